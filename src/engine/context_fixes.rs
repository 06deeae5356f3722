//! Limits the fixes of files that `--fix` does not change.

use meshprobe_mesh::finding::{Applicability, Finding};
use meshprobe_tree::source::SourceSet;

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
