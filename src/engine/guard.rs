//! Keeps a panic in one file's judgement away from the other files.

use std::sync::Arc;

use crate::finding::{Finding, Label, Severity};
use crate::source::SourceSet;
use crate::yaml::Span;

use super::notices::INTERNAL_ERROR;
use super::panic_report::{PanicReport, catch_panic, how_to_report};
#[cfg(debug_assertions)]
use super::planted_panic;

/// The result of a judgement, and what had to be left out of it.
#[derive(Debug)]
pub struct Judged<T> {
    /// The result; the default where nothing could be judged.
    pub value: T,
    /// One finding per file that was left out.
    pub faults: Vec<Finding>,
}

/// Runs `run` over all files. If it panics, the files over which it panics alone are left out
/// and it is run over the rest.
pub fn judge<T: Default>(set: &SourceSet, run: impl Fn(&SourceSet) -> T) -> Judged<T> {
    let attempt = |set: &SourceSet| {
        catch_panic(|| {
            #[cfg(debug_assertions)]
            set.files
                .iter()
                .for_each(|file| planted_panic::trip("check", &file.path));
            run(set)
        })
    };
    if let Ok(value) = attempt(set) {
        return Judged {
            value,
            faults: Vec::new(),
        };
    }
    let mut faults = Vec::new();
    let mut rest = Vec::new();
    for file in &set.files {
        match attempt(&set.with_files(vec![file.clone()])) {
            Ok(_) => rest.push(file.clone()),
            Err(panic) => faults.push(fault(&file.path, &panic.to_string())),
        }
    }
    match attempt(&set.with_files(rest)) {
        Ok(value) => Judged { value, faults },
        // Only several files together cause the panic, so it is reported for all of them.
        Err(panic) => Judged {
            value: T::default(),
            faults: all_at_fault(set, &panic),
        },
    }
}

fn all_at_fault(set: &SourceSet, panic: &PanicReport) -> Vec<Finding> {
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
    use super::*;
    use crate::source::SourceFile;

    fn set(names: &[&str]) -> SourceSet {
        let file = |name: &&str| SourceFile::new(Arc::from(*name), Arc::from("a: 1\n"));
        SourceSet::new(names.iter().map(file).collect())
    }

    fn names(set: &SourceSet) -> Vec<String> {
        set.files.iter().map(|file| file.path.to_string()).collect()
    }

    #[test]
    fn the_guilty_file_is_left_out() {
        let judged = judge(&set(&["a", "bad", "c"]), |set| {
            assert!(!names(set).contains(&"bad".to_owned()));
            names(set)
        });
        assert_eq!(judged.value, ["a", "c"]);
        assert_eq!(judged.faults.len(), 1);
        assert_eq!(&*judged.faults[0].primary.path, "bad");
    }

    #[test]
    fn a_panic_of_all_together_is_reported_everywhere() {
        let judged = judge(&set(&["a", "b"]), |set| {
            assert!(set.files.len() < 2);
            names(set)
        });
        assert!(judged.value.is_empty());
        assert_eq!(judged.faults.len(), 2);
    }
}
