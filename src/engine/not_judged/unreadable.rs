//! Files and folders below the given paths that cannot be read.

use std::sync::Arc;

use crate::context::{NotJudged, NotJudgedReason};
use crate::finding::Label;
use crate::source::{Fault, NO_SUCH_FILE, SourceFile, SourceSet};
use crate::yaml::Span;

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
    Some(NotJudged {
        reason: NotJudgedReason::UnreadableFile,
        place: Label {
            path: Arc::clone(&file.path),
            span: Span::empty(0),
            message: format!("cannot read `{}`: {reason}", file.path),
        },
        object: None,
        help: help.to_owned(),
    })
}
