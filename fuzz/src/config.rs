//! Any text as configuration: in the file, in annotations, and in suppressions.

use meshprobe::mesh::istio::{annotations, known_keys};
use meshprobe::settings::{self, FailOn};
use meshprobe::source::{Content, SourceFile, SourceSet};
use meshprobe::{engine, yaml};

use super::input::{LONGEST, parts, text};
use super::manifest::{check_and_verify, deployment, injected, verify_findings};

/// Runs the target with one input: a configuration, and after the separator the values of
/// annotations.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST {
        return;
    }
    let mut parts = parts(data);
    configuration(&text(parts.next().unwrap_or_default()));
    // The first byte selects the annotation.
    for part in parts.take(3) {
        let (first, value) = part.split_first().unwrap_or((&0, &[]));
        annotation(usize::from(*first), &text(value));
    }
}

fn configuration(text: &str) {
    let file = SourceFile::new(".meshprobe.yaml".into(), text.into());
    for document in &file.documents {
        let (Content::Tree(tree) | Content::Plain(tree)) = &document.content else {
            continue;
        };
        let root = tree.root().expect("no root");
        match settings::parse(root, engine::rule_names()) {
            Ok(layer) => {
                let settings = layer.or(settings::Layer::default());
                let settings = settings.resolved(FailOn::default());
                let manifest = deployment(&[], None);
                let set = SourceSet::from_text("apps/web.yaml", &manifest);
                check_and_verify(&set, &settings);
            }
            Err(problems) => {
                assert!(
                    !problems.is_empty(),
                    "the configuration is refused without a reason"
                );
                for problem in problems {
                    assert!(!problem.message.is_empty());
                    assert!(tree.segment().contains(problem.span), "{problem:?}");
                    assert!(
                        text.get(problem.span.start..problem.span.end).is_some(),
                        "{problem:?} cuts a character"
                    );
                }
            }
        }
    }
}

fn annotation(choice: usize, value: &str) {
    let own = ["meshprobe.dev/ignore", "proxy.istio.io/config"];
    let keys: Vec<&str> = known_keys::KNOWN.iter().copied().chain(own).collect();
    let key = keys[choice % keys.len()];
    let refused = annotations::rejection_reason(key, value);
    assert!(refused.is_none_or(|reason| !reason.is_empty()));
    assert!(annotations::ports(value).count() <= value.len() + 1);
    let manifest = deployment(&[(key, value)], None);
    let set = SourceSet::from_text("web.yaml", &manifest);
    match super::input::choice(value.as_bytes()) % 3 {
        0 => drop(check_and_verify(&set, &injected())),
        1 => {
            let fixed = engine::fix(&set, &injected(), true);
            verify_findings(&fixed.set, &fixed.outcome.findings);
        }
        _ => {
            let rewritten = engine::rewrite(&set, &injected());
            verify_findings(&set, &rewritten.findings);
            // All YAML parsers of Kubernetes tooling reject the character U+007F, even in quotes.
            assert!(is_yaml(&rewritten.set) || !is_yaml(&set));
        }
    }
}

fn is_yaml(set: &SourceSet) -> bool {
    let text = &set.files[0].text;
    yaml::parse(text, yaml::Span::new(0, text.len())).is_ok()
}
