//! Formats what changes between two states of the manifests.

mod findings;
mod full;
mod json;
mod markdown;

use meshprobe_mesh::finding::{Finding, Label, sentence_list};
use meshprobe_mesh::settings::RequiredVerdicts;
use meshprobe_tree::source::SourceSet;

use super::ReportRoot;
use super::report_root::Places;
use super::text::counted;
use meshprobe_engine::diff::{
    Cause, Change, Class, Comparison, FailOn, Group, ProbeState, Side, State,
};

pub use findings::{regressions, with_causes};
pub(super) use full::left_out;
pub use full::{concise, full, last_lines};
pub use json::ChangeReport;
pub use json::{ChangeCounts, ChangeEntry, PredictionEntry, ProbeEntry};
pub use markdown::markdown;

/// One of the two states.
#[derive(Clone, Copy, Debug)]
pub struct ReportedState<'a> {
    /// The name for people, such as "`v1.2` (3c1f2a9)" or "the working tree".
    pub name: &'a str,
    /// The predictions and findings.
    pub state: &'a State,
    /// The files.
    pub set: &'a SourceSet,
}

/// The changes between two states.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    /// The first state.
    pub before: ReportedState<'a>,
    /// The second state.
    pub after: ReportedState<'a>,
    /// What differs.
    pub comparison: &'a Comparison,
    /// The changes that make the run fail.
    pub fail_on: FailOn,
    /// The folder that paths are relative to; `None` to show them as the user names them.
    pub root: Option<&'a ReportRoot>,
}

impl<'a> Changes<'a> {
    /// Returns the same changes with paths relative to a folder.
    #[must_use]
    pub const fn relative_to(&self, root: &'a ReportRoot) -> Self {
        Self {
            root: Some(root),
            ..*self
        }
    }
}

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
                found.iter().map(move |found| {
                    let line = self.places(self.after).place(&found.place);
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
        let places = self.places(self.state_of_change(change));
        change
            .place()
            .map_or_else(String::new, |label| places.place(label))
    }

    /// Returns the file and the line of a cause, with the name of the state if only the first one has the line.
    fn line_of(&self, cause: &Cause, label: &Label) -> String {
        let line = self.places(self.state_of(cause.side)).place(label);
        match cause.side {
            Side::After => line,
            Side::Before => format!("{line} (in {})", self.before.name),
        }
    }

    /// Returns the places of a state.
    pub(crate) const fn places(&self, state: ReportedState<'a>) -> Places<'a> {
        Places {
            set: state.set,
            root: self.root,
        }
    }

    /// Returns the place and the message of a cause.
    fn cause_text(&self, cause: &Cause) -> String {
        let place = cause.place.as_ref();
        let place = place.map(|label| self.places(self.state_of(cause.side)).place(label));
        let place = place.map_or_else(String::new, |place| format!("{place}: "));
        format!("{place}{}", cause.message)
    }

    /// Returns what people read about a change; `None` for a change of a finding.
    pub(crate) fn probe_change<'c>(&self, change: &'c Change) -> Option<ProbeChange<'c>> {
        let probe = change.probe()?;
        let (before, after) = change.probe_states();
        Some(ProbeChange {
            probe,
            before,
            after,
            why: self.why(change, probe),
            place: self.place(change),
        })
    }

    /// Returns why a handler has its outcome, and how it was named before.
    fn why(&self, change: &Change, probe: &ProbeState) -> String {
        let (before, after) = change.probe_states();
        let refusal = probe.refusal();
        let mut text = refusal.map_or_else(
            || probe.why.to_owned(),
            |(reason, place)| {
                let line = self.places(self.state_of_change(change)).place(place);
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
        let line = self.line_of(cause, label);
        let message = &cause.message;
        match cause.side {
            Side::After => format!("{line} {verb} {probes}: {message}"),
            Side::Before => format!("the removal of {line} {verb} {probes}: {message}"),
        }
    }
}

/// A change of a probe, as people read it.
pub(crate) struct ProbeChange<'c> {
    /// The probe after the change; before it, if it is removed.
    pub(super) probe: &'c ProbeState,
    pub(super) before: Option<&'c ProbeState>,
    pub(super) after: Option<&'c ProbeState>,
    /// Why it has its outcome, and how it was named before.
    pub(super) why: String,
    /// The file and the line.
    pub(super) place: String,
}

impl ProbeChange<'_> {
    /// Returns the outcomes before and after; `none` where the probe does not exist.
    fn outcomes(&self, none: &'static str) -> [&'static str; 2] {
        let states = [self.before, self.after];
        states.map(|state| state.map_or(none, |state| state.outcome.as_str()))
    }
}

/// Returns the finding that a group is about; `None` if it is about probes.
pub(crate) fn finding_of<'c>(group: &Group<'c>) -> Option<(&'c Change, &'c Finding)> {
    let change = *group.changes.first()?;
    Some((change, change.finding()?))
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
