//! Limits the fixes of files that `--fix` does not change, and completes commands with the root of the tree.

use meshprobe_mesh::finding::{Applicability, Finding};
use meshprobe_predict::context::NotJudged;
use meshprobe_tree::source::{SourceSet, placeholder};

/// Marks the fixes of files that are only context, or rendered, as display-only. The help names a file that is context
/// if the fix is applied once the file is among the given paths.
pub(super) fn limit_to_targets(set: &SourceSet, findings: &mut [Finding]) {
    for finding in findings {
        limit_fix(set, finding);
    }
}

fn limit_fix(set: &SourceSet, finding: &mut Finding) {
    let Some(fix) = finding.fix.as_mut() else {
        return;
    };
    let path = &fix.path;
    let is_rendered = set.file(path).is_some_and(|file| file.rendered);
    if set.is_target(path) && !is_rendered {
        return;
    }
    if is_rendered {
        fix.limit_to(Applicability::display_only_because(
            "the manifest is rendered from other files",
        ));
        return;
    }
    let option = match fix.applicability {
        Applicability::Safe => "--fix",
        Applicability::Unsafe(_) => "--fix --unsafe-fixes",
        // The fix is not applied to a given file either.
        Applicability::DisplayOnly(_) => return,
    };
    let help = format!("add `{path}` to the paths to apply the fix with `{option}`");
    finding.help = Some(match finding.help.take() {
        Some(earlier) => format!("{earlier} ({help})"),
        None => help,
    });
    let reason = format!("`{path}` is only read as context");
    fix.limit_to(Applicability::display_only_because(reason));
}

/// Completes the commands of findings.
pub(super) fn complete_findings(set: &SourceSet, findings: &mut [Finding]) {
    for finding in findings {
        let assumptions = finding.assumptions.iter_mut();
        let facts = assumptions.map(|assumption| &mut assumption.fact);
        for text in finding.help.as_mut().into_iter().chain(facts) {
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
