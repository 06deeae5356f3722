//! `check` reports no error and no warning about a rewritten pod that it does not report about the original. This
//! holds for every rule, form and release, under STRICT and PERMISSIVE.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, thread};

use meshprobe::engine;
use meshprobe::finding::{Finding, Severity};
use meshprobe::settings::{Form, InjectionAssumption, Settings};
use meshprobe::source::SourceSet;

const RELEASES: [&str; 6] = ["1.10", "1.12", "1.18", "1.24", "1.28", "1.31"];

fn settings(form: Form, release: &str, mtls: &str) -> Settings {
    let mut settings = Settings {
        mesh_version: release.parse().ok(),
        form: form.into(),
        ..Settings::default()
    };
    settings.overrides.injection = Some(InjectionAssumption::All);
    settings
        .overrides
        .set_pair(&format!("mtls={mtls}"))
        .unwrap();
    settings
}

/// Returns document and rule of each error and warning.
fn problems(findings: &[Finding]) -> BTreeSet<(usize, &'static str)> {
    let bad = findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning);
    bad.map(|finding| (finding.document, finding.rule.as_str()))
        .collect()
}

/// Returns the indices of the documents that differ.
fn changed(before: &SourceSet, after: &SourceSet) -> BTreeSet<usize> {
    let texts = |set: &SourceSet| -> Vec<String> {
        let file = set.files.first().unwrap();
        let documents = file.documents.iter().filter_map(|document| document.tree());
        documents
            .map(|tree| tree.segment().slice(tree.text()).to_owned())
            .collect()
    };
    let (before, after) = (texts(before), texts(after));
    assert_eq!(before.len(), after.len());
    let pairs = before.iter().zip(&after).enumerate();
    pairs
        .filter(|(_, (before, after))| before != after)
        .map(|(index, _)| index)
        .collect()
}

/// Returns the number of pods of all inputs that are rewritten for a release, and the findings that the rewrites add.
fn judge(release: &str) -> (usize, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/istio/rewrite");
    let (mut rewritten, mut faults) = (0, Vec::new());
    for case in fs::read_dir(root).unwrap() {
        let folder = case.unwrap().path();
        let text = fs::read_to_string(folder.join("input.yaml")).unwrap();
        for (form, mtls) in Form::ALL
            .into_iter()
            .flat_map(|form| ["STRICT", "PERMISSIVE"].map(|mtls| (form, mtls)))
        {
            let settings = settings(form, release, mtls);
            let before = SourceSet::from_text("input.yaml", text.as_str());
            let run = engine::rewrite(&before, &settings);
            let changed = changed(&before, &run.set);
            rewritten += changed.len();
            let mut now = problems(&engine::check(&run.set, &settings).findings);
            now.retain(|(at, _)| changed.contains(at));
            if now.is_empty() {
                continue;
            }
            let was = problems(&engine::check(&before, &settings).findings);
            let new = now.difference(&was);
            let name = folder.file_name().unwrap().to_string_lossy();
            faults.extend(new.map(|(at, rule)| {
                format!("{name} (document {at}) {release} {form:?} {mtls}: {rule}")
            }));
        }
    }
    (rewritten, faults)
}

#[test]
fn a_rewrite_adds_no_errors_and_no_warnings() {
    let judged = thread::scope(|scope| {
        let runs = RELEASES.map(|release| scope.spawn(move || judge(release)));
        runs.map(|run| run.join().unwrap())
    });
    let rewritten: usize = judged.iter().map(|(rewritten, _)| rewritten).sum();
    let faults: Vec<String> = judged.into_iter().flat_map(|(_, faults)| faults).collect();
    println!("{rewritten} pods rewritten");
    assert!(rewritten >= 2000, "{rewritten}");
    let count = faults.len();
    assert!(
        faults.is_empty(),
        "{count} new findings\n{}",
        faults.join("\n")
    );
}
