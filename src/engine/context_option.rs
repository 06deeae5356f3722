//! Completes the commands of messages with the root of the tree.

use crate::context::NotJudged;
use crate::finding::Finding;
use crate::source::SourceSet;

/// Completes the commands of findings.
pub(super) fn complete_findings(set: &SourceSet, findings: &mut [Finding]) {
    for finding in findings {
        let help = finding.help.as_mut();
        for text in help.into_iter().chain(&mut finding.assumptions) {
            set.context_option.apply_to(text);
        }
    }
}

/// Completes the commands that would judge something.
pub(super) fn complete_not_judged(set: &SourceSet, not_judged: &mut [NotJudged]) {
    for entry in not_judged {
        set.context_option.apply_to(&mut entry.help);
    }
}
