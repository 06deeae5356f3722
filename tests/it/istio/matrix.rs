//! Rewrites every case of `fixtures/istio/rewrite` in every form for every release. All tests share the results.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use rayon::prelude::*;
use serde_json::Value;

use super::webhook::{Workload, workloads};
use crate::support::{Run, case_folders, meshprobe};

pub(crate) const FORMS: [&str; 3] = ["annotation", "container", "container-only"];

/// A folder of `fixtures/istio/rewrite`.
pub(crate) struct Case {
    pub(crate) name: String,
    /// The workloads of `input.yaml`.
    pub(crate) input: Vec<Workload>,
    /// The results of each release's injector for each workload: the groups of `expected.json`.
    pub(crate) golden: Vec<Value>,
    runs: BTreeMap<(&'static str, String), Rewrite>,
}

/// One run of `rewrite`.
pub(crate) struct Rewrite {
    pub(crate) run: Run,
    /// The workloads in the output. Most releases print the same text, so they share one parsed value.
    pub(crate) output: Arc<Vec<Workload>>,
}

impl Case {
    /// Returns each release with the group of `expected.json` that it belongs to.
    pub(crate) fn releases(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.golden.iter().flat_map(|group| {
            let releases = group["versions"].as_array().unwrap().iter();
            releases.map(move |release| (release.as_str().unwrap(), group))
        })
    }

    /// Returns the run of `rewrite` in a form for a release.
    pub(crate) fn rewrite(&self, form: &'static str, release: &str) -> &Rewrite {
        &self.runs[&(form, release.to_owned())]
    }
}

/// Returns all cases. Call it outside of the thread pool, because the first call needs its threads.
pub(crate) fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let folders = case_folders("istio/rewrite");
        assert!(folders.len() >= 115, "{} cases", folders.len());
        folders.par_iter().map(|folder| case(folder)).collect()
    });
    &CASES
}

fn case(folder: &Path) -> Case {
    let golden = fs::read_to_string(folder.join("expected.json")).unwrap();
    let input = fs::read_to_string(folder.join("input.yaml")).unwrap();
    let mut case = Case {
        name: folder.file_name().unwrap().to_string_lossy().into_owned(),
        input: workloads(&input),
        golden: serde_json::from_str(&golden).unwrap(),
        runs: BTreeMap::new(),
    };
    let (mut runs, mut outputs) = (BTreeMap::new(), BTreeMap::new());
    for (release, _) in case.releases() {
        for form in FORMS {
            let run = rewrite(folder, form, release);
            let output: &mut Arc<Vec<Workload>> = outputs
                .entry(run.stdout.clone())
                .or_insert_with(|| Arc::new(workloads(&run.stdout)));
            let output = Arc::clone(output);
            runs.insert((form, release.to_owned()), Rewrite { run, output });
        }
    }
    case.runs = runs;
    case
}

fn rewrite(folder: &Path, form: &str, release: &str) -> Run {
    let arguments = [
        "rewrite",
        "--isolated",
        "--color",
        "never",
        "--threads",
        "1",
        "--assume",
        "injection=all",
        "--mesh-version",
        release,
        "--form",
        form,
        "input.yaml",
    ];
    meshprobe(folder, &arguments, "")
}
