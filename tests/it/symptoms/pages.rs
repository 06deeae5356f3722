//! The pages in `docs/symptoms`: their parts agree with the model, and their manifests with their texts.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::project::Project;
use crate::support::{findings, meshprobe, predictions};
use meshprobe::rules::{self, Example};
use meshprobe::symptoms::{self, Cause, Specificity, Symptom};

const HOW: &str = "run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it symptoms::pages`";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/symptoms")
}

/// Compares a page with its generated text, after an update if the environment requests it.
fn compare(name: &str, wanted: &str) {
    let file = folder().join(name);
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::write(&file, wanted).unwrap();
    }
    let published = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        published == wanted,
        "docs/symptoms/{name} is out of date: {HOW}"
    );
}

/// Returns the arguments and the files of the manifest of a cause: its own, or the example of its rule.
fn example(cause: &Cause) -> Option<Example> {
    if let Some(manifest) = &cause.manifest {
        return Some(Example {
            arguments: Example::arguments_of(manifest),
            files: vec![("example.yaml".to_owned(), manifest.clone())],
        });
    }
    let rule = cause.rule.as_ref()?;
    let rule = rules::all().iter().find(|known| known.id.as_str() == rule);
    rule.unwrap_or_else(|| panic!("no rule {:?}", cause.rule))
        .sections()
        .example
}

/// Runs a command over an example, with JSON output.
fn run(command: &str, example: &Example) -> crate::support::Run {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in &example.files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut arguments = vec![command, "--isolated", "--output-format", "json"];
    arguments.extend(example.arguments.iter().map(String::as_str));
    meshprobe(folder.path(), &arguments, "")
}

/// What the model predicts for the manifest of a cause.
struct Predicted {
    /// The paragraph of the page.
    paragraph: String,
    /// The text of the kubelet.
    kubelet: Option<String>,
}

fn predicted(symptom: &Symptom, cause: &Cause, example: &Example) -> Predicted {
    let place = format!("{}: {}", symptom.id, cause.title);
    match &cause.rule {
        Some(rule) => predicted_by_rule(symptom, rule, example, &place),
        None => {
            let run = run("predict", example);
            let handlers = predictions::handlers(&run);
            let [handler] = handlers.as_slice() else {
                panic!("{place}: expected one probe");
            };
            assert_eq!(handler["outcome"], outcome_without_rule(handler), "{place}");
            let outcome = handler["outcome"].as_str().unwrap();
            Predicted {
                paragraph: format!(
                    "Found by no rule: the mesh does not cause it. `predict` shows `{outcome}`."
                ),
                kubelet: None,
            }
        }
    }
}

/// Returns the outcome that a probe must have if no rule reports it: the mesh is not at fault.
fn outcome_without_rule(handler: &Value) -> &'static str {
    match handler["outcome"].as_str() {
        Some("not-in-mesh") => "not-in-mesh",
        _ => "ok",
    }
}

fn predicted_by_rule(symptom: &Symptom, rule: &str, example: &Example, place: &str) -> Predicted {
    let found: Vec<Value> = findings(&run("check", example))
        .into_iter()
        .filter(|finding| finding["rule"] == rule)
        .collect();
    let kubelet_of = |finding: &Value| finding["kubelet"].as_str().map(str::to_owned);
    let leads_here = |finding: &&Value| {
        kubelet_of(finding).is_some_and(|text| leads_to(&text) == Some(symptom.id))
    };
    let finding = found
        .iter()
        .find(leads_here)
        .or_else(|| found.first())
        .unwrap_or_else(|| panic!("{place}: {rule} does not report the manifest"));
    let link = format!("[{rule}](../rules/{rule}.md)");
    let kubelet = kubelet_of(finding);
    let paragraph = match (finding["outcome"].as_str(), &kubelet) {
        (Some(outcome), Some(text)) => {
            format!("Found by {link}, outcome `{outcome}`, with this text:\n\n```text\n{text}\n```")
        }
        (Some(outcome), None) => format!("Found by {link}, outcome `{outcome}`."),
        (None, _) => {
            let severity = finding["severity"].as_str().unwrap();
            format!("Found by {link}, severity {severity}.")
        }
    };
    Predicted { paragraph, kubelet }
}

/// Returns the symptom to which a text leads.
fn leads_to(text: &str) -> Option<&'static str> {
    symptoms::find(text).first().map(|best| best.symptom.id)
}

/// `MESHPROBE_UPDATE_DOCS=1` updates the paragraphs.
#[test]
fn the_paragraphs_about_rules_agree_with_the_model() {
    for symptom in symptoms::all() {
        let mut sections: Vec<String> = symptom.page.split("\n### ").map(str::to_owned).collect();
        for (section, cause) in sections.iter_mut().skip(1).zip(symptom.causes()) {
            if cause.found.is_empty() {
                continue;
            }
            let example =
                example(&cause).unwrap_or_else(|| panic!("{}: {}", symptom.id, cause.title));
            let predicted = predicted(symptom, &cause, &example);
            *section = section.replacen(&cause.found, &predicted.paragraph, 1);
        }
        compare(&format!("{}.md", symptom.id), &sections.join("\n### "));
    }
}

/// The manifest of a cause must show what the page is about, and the excerpt must be part of it.
#[test]
fn the_manifests_have_the_text_of_their_page() {
    let mut with_text = 0;
    let mut wrong = Vec::new();
    for symptom in symptoms::all() {
        assert!(!symptom.causes().is_empty(), "{} has no causes", symptom.id);
        for cause in symptom.causes() {
            let place = format!("{}: {}", symptom.id, cause.title);
            let Some(example) = example(&cause).filter(|_| !cause.found.is_empty()) else {
                assert!(
                    cause.excerpt.is_empty(),
                    "{place}: an excerpt without a manifest"
                );
                continue;
            };
            is_part_of(&cause.excerpt, &example, &place);
            let Some(text) = predicted(symptom, &cause, &example).kubelet else {
                continue;
            };
            let page = leads_to(&text).unwrap();
            let is_named = symptom.page.contains(&format!("({page}.md)"));
            if page != symptom.id && !is_named {
                wrong.push(format!(
                    "{place}: {text} leads to {page}, which the page does not link"
                ));
            }
            with_text += usize::from(page == symptom.id);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("{with_text} manifests have the text of their page");
    assert!(
        with_text >= 30,
        "{with_text} manifests have the text of their page"
    );
}

/// Asserts that each line of an excerpt is a line of the manifest, in the same order.
fn is_part_of(excerpt: &str, example: &Example, place: &str) {
    assert!(!excerpt.is_empty(), "{place}: no excerpt");
    let texts: Vec<&str> = example
        .files
        .iter()
        .map(|(_, text)| text.as_str())
        .collect();
    let text = texts.join("\n");
    let key = |line: &str| line.trim().trim_start_matches("- ").to_owned();
    let mut lines = text.lines().map(key);
    for line in excerpt.lines().map(key) {
        assert!(
            lines.any(|other| other == line),
            "{place}: `{line}` is not in the manifest, or in another order"
        );
    }
    let count = excerpt.lines().count();
    assert!(count <= 8, "{place}: {count} lines");
}

/// Every text of a page leads to it first.
#[test]
fn the_texts_of_a_page_lead_to_it() {
    for symptom in symptoms::all() {
        let id = symptom.id;
        let (_, seen) = symptom
            .page
            .split_once("## What you see\n\n```text\n")
            .unwrap();
        let (seen, _) = seen.split_once("```").unwrap();
        assert_eq!(leads_to(seen), Some(id));
        for line in seen.lines() {
            assert_eq!(leads_to(line), Some(id), "{line}");
        }
    }
}

#[test]
fn the_pages_have_all_parts() {
    for symptom in symptoms::all() {
        for heading in [
            "## What you see",
            "## Causes",
            "## How to confirm",
            "## Sources",
        ] {
            assert!(symptom.page.contains(heading), "{}: {heading}", symptom.id);
        }
        for cause in symptom.page.split("\n### ").skip(1) {
            let title = cause.lines().next().unwrap();
            assert!(cause.contains("\nFix: "), "{}: {title}: no fix", symptom.id);
        }
        let summary = symptom.summary();
        assert!(summary.ends_with('.'), "{}: {summary}", symptom.id);
    }
}

/// `MESHPROBE_UPDATE_DOCS=1` updates the index, and removes no page: a page without a symptom is an error.
#[test]
fn the_index_lists_every_page() {
    let mut index = "<!-- Generated. -->\n\n# Symptoms\n\n\
         The texts of events and errors that a service mesh causes, each with its causes, a command that confirms them, \
         and the fix.\n`meshprobe explain 'TEXT'` finds the page for a pasted text, without network.\n\n\
         | text | meaning |\n|---|---|\n"
        .to_owned();
    for symptom in symptoms::all() {
        let summary = symptom.summary().replace('|', "\\|");
        writeln!(
            index,
            "| [{}]({}.md) | {summary} |",
            symptom.title(),
            symptom.id
        )
        .unwrap();
    }
    compare("README.md", &index);
    let known = symptoms::all()
        .iter()
        .map(|symptom| format!("{}.md", symptom.id));
    let known: BTreeSet<String> = known.chain(["README.md".to_owned()]).collect();
    let present: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(known, present);
}

/// `MESHPROBE_UPDATE_DOCS=1` writes the list of symptoms in the table of contents of the site.
#[test]
fn the_table_of_contents_lists_the_symptoms_below_their_index() {
    let summary = fs::read_to_string(folder().join("../SUMMARY.md")).unwrap();
    let index = "- [Symptoms](symptoms/README.md)\n";
    let (before, rest) = summary.split_once(index).unwrap();
    let after: String = rest
        .split_inclusive('\n')
        .skip_while(|line| line.starts_with("  - "))
        .collect();
    let line =
        |symptom: &Symptom| format!("  - [{}](symptoms/{}.md)\n", symptom.title(), symptom.id);
    let list: String = symptoms::all().iter().map(line).collect();
    compare("../SUMMARY.md", &[before, index, &list, &after].concat());
}

/// The commands of the pages have valid arguments.
#[test]
fn the_commands_of_the_pages_are_valid() {
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";
    let project = Project::with(&[("web.yaml", manifest)]);
    let mut count = 0;
    for symptom in symptoms::all() {
        for block in symptom.page.split("```sh\n").skip(1) {
            let (block, _) = block.split_once("```").unwrap();
            let commands = block
                .lines()
                .filter_map(|line| Some(line.split_once("meshprobe ")?.1));
            for command in commands {
                let arguments: Vec<&str> = command.split_whitespace().collect();
                let run = project.pipe(&arguments, "connection refused");
                assert_ne!(run.code, 2, "{}: {command}: {}", symptom.id, run.stderr);
                count += 1;
            }
        }
    }
    assert!(count >= 15, "{count} commands");
}

/// Links in a page lead to files.
#[test]
fn the_links_of_the_pages_exist() {
    let link = regex::Regex::new(r"\]\(([^)#]+)").unwrap();
    for symptom in symptoms::all() {
        for target in link.captures_iter(symptom.page) {
            let file = folder().join(&target[1]);
            assert!(file.is_file(), "{}: {}", symptom.id, &target[1]);
        }
    }
}

/// Ids are unique, and texts without a cause never hide an error.
#[test]
fn a_state_never_hides_an_error() {
    let pasted = "Warning BackOff Back-off restarting failed container web\n\
                  Normal Killing Container web failed liveness probe, will be restarted\n\
                  Warning Unhealthy Liveness probe failed: HTTP probe failed with statuscode: 502";
    let found = symptoms::find(pasted);
    assert_eq!(found[0].symptom.id, "statuscode-502");
    assert_eq!(found[0].specificity, Specificity::Error);
    let ids: BTreeSet<&str> = symptoms::all().iter().map(|symptom| symptom.id).collect();
    assert_eq!(ids.len(), symptoms::all().len());
}
