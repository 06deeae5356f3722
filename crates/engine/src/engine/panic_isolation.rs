//! Isolates a panic on one file from the other files.

use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_tree::source::{Role, SourceSet};
use meshprobe_yaml::Span;

use crate::engine::panic_report::{PanicReport, catch_panic, how_to_report};
use meshprobe_rules::rules::notices::INTERNAL_ERROR;

#[cfg(debug_assertions)]
use crate::engine::planted_panic;

/// A result, and the files that were excluded from it.
#[derive(Debug)]
pub(crate) struct Isolated<T> {
    /// The result; the default if no file could be processed.
    pub(crate) value: T,
    /// One finding per excluded file.
    pub(crate) faults: Vec<Finding>,
}

/// Runs `run` on all files. If it panics, runs it on each file, and then on all files on which it did not panic.
pub(crate) fn isolate_panics<T: Default>(
    set: &SourceSet,
    run: impl Fn(&SourceSet) -> T,
) -> Isolated<T> {
    let attempt = |set: &SourceSet| {
        catch_panic(|| {
            #[cfg(debug_assertions)]
            trip_planted(set);
            run(set)
        })
    };
    if let Ok(value) = attempt(set) {
        return Isolated {
            value,
            faults: Vec::new(),
        };
    }
    let mut faults = Vec::new();
    let mut good = Vec::new();
    for file in &set.files {
        match attempt(&set.with_files(vec![file.clone()])) {
            Ok(_) => good.push(file.clone()),
            Err(_) if file.role == Role::Repository => {}
            Err(panic) => faults.push(fault(&file.path, &panic.to_string())),
        }
    }
    match attempt(&set.with_files(good)) {
        Ok(value) => Isolated { value, faults },
        // Only several files together cause the panic, so it is reported for all of them.
        Err(panic) => Isolated {
            value: T::default(),
            faults: faults_of_all(set, &panic),
        },
    }
}

/// Panics if a panic was planted for a file.
#[cfg(debug_assertions)]
fn trip_planted(set: &SourceSet) {
    let paths = set.files.iter().map(|file| &file.path);
    paths.for_each(|path| planted_panic::trip("check", path));
}

fn faults_of_all(set: &SourceSet, panic: &PanicReport) -> Vec<Finding> {
    let panic = panic.to_string();
    set.targets()
        .map(|file| fault(&file.path, &panic))
        .collect()
}

/// Returns the finding for a file on which meshprobe panicked; `panic` has the location and the
/// message of the panic.
pub(super) fn fault(path: &Arc<str>, panic: &str) -> Finding {
    let label = Label {
        path: Arc::clone(path),
        span: Span::empty(0),
        message: String::new(),
    };
    let message =
        format!("meshprobe panicked on this file, which was therefore not checked: {panic}");
    let mut finding = Finding::new(INTERNAL_ERROR, Severity::Error, label, message);
    finding.help = Some(how_to_report("the file"));
    finding
}

#[cfg(test)]
mod tests {
    use crate::engine::panic_isolation::*;
    use meshprobe_tree::source::SourceFile;

    fn set(names: &[&str]) -> SourceSet {
        let file = |name: &&str| SourceFile::new(Arc::from(*name), Arc::from("a: 1\n"));
        SourceSet::new(names.iter().map(file).collect())
    }

    fn names(set: &SourceSet) -> Vec<String> {
        set.files.iter().map(|file| file.path.to_string()).collect()
    }

    #[test]
    fn a_file_that_causes_a_panic_is_excluded() {
        let isolated = isolate_panics(&set(&["a", "bad", "c"]), |set| {
            assert!(!names(set).contains(&"bad".to_owned()));
            names(set)
        });
        assert_eq!(isolated.value, ["a", "c"]);
        assert_eq!(isolated.faults.len(), 1);
        assert_eq!(&*isolated.faults[0].primary.path, "bad");
    }

    #[test]
    fn a_panic_that_several_files_cause_together_is_reported_for_all() {
        let isolated = isolate_panics(&set(&["a", "b"]), |set| {
            assert!(set.files.len() < 2);
            names(set)
        });
        assert!(isolated.value.is_empty());
        assert_eq!(isolated.faults.len(), 2);
    }
}
