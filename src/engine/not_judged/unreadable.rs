//! Files and folders below the given paths that cannot be read.

use meshprobe_predict::context::{NotJudged, NotJudgedReason};
use meshprobe_tree::source::{Fault, NO_SUCH_FILE, SourceFile, SourceSet};

/// Returns the targets that cannot be read, except those that the user named: they make the run fail.
pub(super) fn files(set: &SourceSet) -> Vec<NotJudged> {
    let found = set.targets().filter(|file| !file.explicit);
    found.filter_map(unreadable).collect()
}

fn unreadable(file: &SourceFile) -> Option<NotJudged> {
    let (reason, help) = match &file.fault {
        Some(Fault::Unreadable(reason)) => {
            let help = "make it readable, or leave it out with `--exclude`";
            (reason.as_str(), help)
        }
        Some(Fault::DanglingLink) => {
            let help = "correct the link, or leave it out with `--exclude`";
            (NO_SUCH_FILE, help)
        }
        _ => return None,
    };
    let message = format!("cannot read `{}`: {reason}", file.path);
    Some(NotJudged::of_file(
        NotJudgedReason::UnreadableFile,
        file,
        message,
        help,
    ))
}
