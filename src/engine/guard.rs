//! Keeps a panic in one file's judgement away from the other files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::finding::{Finding, Label, Severity};
use crate::source::SourceSet;
use crate::yaml::Span;

use super::notices::INTERNAL_ERROR;

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
    let attempt = |set: &SourceSet| catch_unwind(AssertUnwindSafe(|| run(set))).ok();
    if let Some(value) = attempt(set) {
        return Judged {
            value,
            faults: Vec::new(),
        };
    }
    let alone = |file| SourceSet { files: vec![file] };
    let (guilty, rest): (Vec<_>, Vec<_>) = set
        .files
        .iter()
        .cloned()
        .partition(|file| attempt(&alone(file.clone())).is_none());
    let mut faults: Vec<Finding> = guilty.iter().map(|file| fault(&file.path)).collect();
    let value = attempt(&SourceSet { files: rest });
    if value.is_none() {
        // Only together do the files make it panic: nothing better can be said than where.
        faults = set.targets().map(|file| fault(&file.path)).collect();
    }
    Judged {
        value: value.unwrap_or_default(),
        faults,
    }
}

/// The finding for a file that meshprobe itself stumbled over.
pub(super) fn fault(path: &Arc<str>) -> Finding {
    let label = Label {
        path: Arc::clone(path),
        span: Span::empty(0),
        message: String::new(),
    };
    let message = format!("meshprobe failed on {path}: the file was not judged");
    let mut finding = Finding::new(INTERNAL_ERROR, Severity::Error, label, message);
    finding.help = Some("this is a fault of meshprobe: please report it with the file".into());
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
