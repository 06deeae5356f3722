//! Completes the commands of messages with the root of the tree.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::NotJudged;
use meshprobe_tree::source::{SourceSet, placeholder};

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
        if has_unfilled_command(&entry.help) {
            entry.help = "fill in the placeholders, and check the rendered manifests".to_owned();
        }
        set.context_option.apply_to(&mut entry.help);
    }
}

/// Returns whether a text contains a command with a placeholder, which no shell fills in.
fn has_unfilled_command(text: &str) -> bool {
    let mut quoted = text.split('`').skip(1).step_by(2);
    quoted.any(|part| part.contains("meshprobe") && placeholder::contains(part))
}
