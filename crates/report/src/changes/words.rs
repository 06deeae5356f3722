//! The sentences about changes.

use meshprobe_mesh::finding::{Label, sentence_list};
use meshprobe_mesh::settings::RequiredVerdicts;
use meshprobe_tree::source::SourceSet;

use super::{Changes, ReportedState};
use crate::report_root::{line_region, source_path};
use crate::text::counted;
use meshprobe_engine::diff::{Cause, Change, Class, Comparison, Group, ProbeState, Side};

impl<'a> Changes<'a> {
    /// Returns the state that contains the line of a cause.
    pub const fn state_of(&self, side: Side) -> ReportedState<'a> {
        match side {
            Side::Before => self.before,
            Side::After => self.after,
        }
    }

    /// Returns whether no state has a workload and nothing differs, so that the result says nothing.
    #[must_use]
    pub fn compares_nothing(&self) -> bool {
        let is_empty = |state: ReportedState<'_>| state.state.summary.judges_nothing();
        is_empty(self.before) && is_empty(self.after) && self.comparison.changes.is_empty()
    }

    /// Returns whether the run fails.
    #[must_use]
    pub fn fails(&self) -> bool {
        let classes = self.fail_on.classes.iter();
        classes.copied().any(|class| self.comparison.has(class))
            || self.missing_verdicts().is_some()
    }

    /// Returns why the run fails although its changes may not: the verdicts that are required and missing.
    #[must_use]
    pub fn missing_verdicts(&self) -> Option<String> {
        let comparison = self.comparison;
        let parts = [&comparison.newly_not_judged, &comparison.changed_not_judged];
        let parts: usize = parts.iter().map(|parts| parts.len()).sum();
        let nothing = "neither state contains a workload that can be judged";
        match self.fail_on.required {
            RequiredVerdicts::One if self.compares_nothing() => {
                Some(format!("{nothing}, but `--require-workloads` requires one"))
            }
            RequiredVerdicts::All if parts > 0 => {
                let parts = match parts {
                    1 => "1 part is not judged and differs".to_owned(),
                    parts => format!("{parts} parts are not judged and differ"),
                };
                Some(format!("{parts}, which `--fail-on` does not allow"))
            }
            RequiredVerdicts::All if self.compares_nothing() => {
                Some(format!("{nothing}, which `--fail-on` does not allow"))
            }
            RequiredVerdicts::None | RequiredVerdicts::One | RequiredVerdicts::All => None,
        }
    }

    /// Returns lines about what is not judged and differs.
    pub fn not_judged_lines(&self) -> Vec<String> {
        let comparison = self.comparison;
        let parts = [
            ("new and not judged", &comparison.newly_not_judged),
            ("changed and not judged", &comparison.changed_not_judged),
        ];
        parts
            .into_iter()
            .flat_map(|(what, found)| {
                let set = self.after.set;
                found.iter().map(move |found| {
                    let line = self.line(set, &found.place);
                    format!("{what}: {line}: {} ({})", found.place.message, found.help)
                })
            })
            .collect()
    }

    /// Returns the state that contains the place of a change.
    pub const fn state_of_change(&self, change: &Change) -> ReportedState<'a> {
        match change.is_gone() {
            true => self.before,
            false => self.after,
        }
    }

    /// Returns the file and the line of a change.
    pub(super) fn place(&self, change: &Change) -> String {
        let set = self.state_of_change(change).set;
        change
            .place()
            .map_or_else(String::new, |label| self.line(set, label))
    }

    /// Returns the file and the line of a cause, with the name of the state if only the first one has the line.
    fn line_of(&self, cause: &Cause, label: &Label) -> String {
        let line = self.line(self.state_of(cause.side).set, label);
        match cause.side {
            Side::After => line,
            Side::Before => format!("{line} (in {})", self.before.name),
        }
    }

    /// Returns the file and the line of a label.
    pub(super) fn line(&self, set: &SourceSet, label: &Label) -> String {
        let path = source_path(set, label);
        let path = match self.root {
            Some(root) => root.path(set, &path),
            None => path.to_string(),
        };
        match line_region(set, label) {
            Some(region) => format!("{path}:{}", region.line),
            None => path,
        }
    }

    /// Returns why a handler has its outcome, and how it was named before.
    pub fn why(&self, change: &Change, probe: &ProbeState) -> String {
        let (before, after) = change.probe_states();
        let refusal = probe.refusal();
        let mut text = refusal.map_or_else(
            || probe.why.to_owned(),
            |(reason, place)| {
                let line = self.line(self.state_of_change(change).set, place);
                format!("{}; see {line}", reason.message)
            },
        );
        if let Some((old, new)) = before.zip(after) {
            let is_same = (old.outcome, old.why) == (new.outcome, new.why);
            if is_same && old.certainty != new.certainty {
                let (old, new) = (old.certainty.as_str(), new.certainty.as_str());
                text.push_str(&format!("; {new}, was {old}"));
            }
            if let Some(name) = new.renamed_from(old) {
                text.push_str(&format!("; was {name}"));
            }
        }
        if let Some(remains) = &change.remains {
            text.push_str(&format!("; {remains}"));
        }
        text
    }

    /// Returns the sentence about a group, such as "infra/mtls.yaml:8 breaks 3 probes: STRICT for namespace `shop`".
    pub fn sentence(&self, group: &Group<'_>) -> String {
        let count = group.changes.len();
        let probes = counted(count, group_noun(group));
        match (group.class, group.cause) {
            (Class::Added, _) => format!("{probes} with a fault{}", self.other_line(group)),
            (Class::Removed, _) => {
                let leaves_environment = |change: &&Change| change.remains.is_some();
                let what = match group.changes.iter().all(leaves_environment) {
                    true => "removed from an environment",
                    false => "not found any more",
                };
                format!("{probes} {what}{}", self.other_line(group))
            }
            (class, Some(cause)) => self.sentence_with_cause(class, cause, &probes, count),
            (class, None) => format!("{probes} {}", verb_of(class, count)),
        }
    }

    /// Returns the cause of new or removed handlers, unless it is their own line.
    fn other_line(&self, group: &Group<'_>) -> String {
        let own = group.changes.first().and_then(|change| change.place());
        let Some(cause) = group.cause else {
            return String::new();
        };
        match &cause.place {
            None => format!(": {}", cause.message),
            Some(label) if own.is_some_and(|own| own.is_at(label)) => String::new(),
            Some(label) => format!(": {}: {}", self.line_of(cause, label), cause.message),
        }
    }

    fn sentence_with_cause(
        &self,
        class: Class,
        cause: &Cause,
        probes: &str,
        count: usize,
    ) -> String {
        let verb = match class {
            Class::Regression => "breaks",
            Class::Improvement => "fixes",
            Class::Changed | Class::Added | Class::Removed => "changes",
        };
        let Some(label) = &cause.place else {
            return match cause.is_option {
                true => format!("{} {verb} {probes}", cause.message),
                false => format!("{probes} {}: {}", verb_of(class, count), cause.message),
            };
        };
        let line = self.line(self.state_of(cause.side).set, label);
        match cause.side {
            Side::After => format!("{line} {verb} {probes}: {}", cause.message),
            Side::Before => {
                let line = self.line_of(cause, label);
                format!("the removal of {line} {verb} {probes}: {}", cause.message)
            }
        }
    }
}

/// Returns the verb of which the probes are the subject.
const fn verb_of(class: Class, count: usize) -> &'static str {
    match (class, count) {
        (Class::Regression, 1) => "breaks",
        (Class::Regression, _) => "break",
        (Class::Improvement, 1) => "is fixed",
        (Class::Improvement, _) => "are fixed",
        (_, 1) => "changes",
        _ => "change",
    }
}

/// Returns the noun for the changes of a group.
fn group_noun(group: &Group<'_>) -> &'static str {
    let is_probe = |change: &&Change| {
        let probe = change.probe();
        probe.is_none_or(|probe| probe.id.slot.ends_with("robe"))
    };
    match (group.class, group.changes.iter().all(is_probe)) {
        (Class::Added, true) => "new probe",
        (Class::Added, false) => "new handler",
        (_, true) => "probe",
        (_, false) => "handler",
    }
}

/// Returns the counts of a comparison, such as "3 regressions and 1 improvement".
#[must_use]
pub fn summary(comparison: &Comparison) -> String {
    let parts: Vec<String> = Class::ALL
        .into_iter()
        .filter_map(|class| {
            let changes = comparison.changes.iter();
            let count = changes.filter(|change| change.class == class).count();
            (count > 0).then(|| class_count(class, count))
        })
        .collect();
    match parts.as_slice() {
        [] => "No changes".to_owned(),
        parts => sentence_list(parts),
    }
}

fn class_count(class: Class, count: usize) -> String {
    match class {
        Class::Regression => counted(count, "regression"),
        Class::Added => format!("{} with a fault", counted(count, "new probe")),
        Class::Changed => counted(count, "other change"),
        Class::Improvement => counted(count, "improvement"),
        Class::Removed => counted(count, "removed probe"),
    }
}
