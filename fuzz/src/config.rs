//! Any text as configuration: the file, the annotations, and the suppressions.

use meshprobe::engine;
use meshprobe::mesh::istio::annotations;
use meshprobe::settings::{self, FailOn};
use meshprobe::source::{Content, SourceFile, SourceSet};
use meshprobe::yaml;

use super::input::{LONGEST, parts, text};
use super::manifest::{deployment, injected, judged, told};

/// Runs the target over one input: a configuration, and behind the separator the values of
/// annotations.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST {
        return;
    }
    let mut parts = parts(data);
    configuration(&text(parts.next().unwrap_or_default()));
    // The first byte chooses the annotation.
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
        match settings::read(root, &engine::rule_ids(), &engine::check_ids()) {
            Ok(layer) => {
                let settings = layer.over(settings::Layer::default());
                let settings = settings.resolved(FailOn::default());
                let manifest = deployment(&[], None);
                let set = SourceSet::from_text("apps/web.yaml", &manifest);
                judged(&set, &settings);
            }
            Err(problems) => {
                assert!(!problems.is_empty(), "refused without a reason");
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
    let keys: Vec<&str> = annotations::KNOWN.iter().copied().chain(own).collect();
    let key = keys[choice % keys.len()];
    let refused = annotations::refused(key, value);
    assert!(refused.is_none_or(|reason| !reason.is_empty()));
    assert!(annotations::ports(value).count() <= value.len() + 1);
    let manifest = deployment(&[(key, value)], None);
    let set = SourceSet::from_text("web.yaml", &manifest);
    match super::input::choice(value.as_bytes()) % 3 {
        0 => drop(judged(&set, &injected())),
        1 => {
            let fixed = engine::fix(&set, &injected(), true);
            told(&fixed.set, &fixed.outcome.findings);
        }
        _ => {
            let rewritten = engine::rewrite(&set, &injected());
            told(&set, &rewritten.findings);
            // No YAML parser of Kubernetes' tools takes the character U+007F, quoted or not.
            assert!(is_yaml(&rewritten.set) || !is_yaml(&set));
        }
    }
}

fn is_yaml(set: &SourceSet) -> bool {
    let text = &set.files[0].text;
    yaml::parse(text, yaml::Span::new(0, text.len())).is_ok()
}
