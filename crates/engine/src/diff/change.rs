//! The changes of a comparison, and their groups by cause.

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_predict::context::NotJudged;
use meshprobe_yaml::Span;

use super::cause::Cause;
use super::class::{Class, Side};
use super::probe_state::ProbeState;

/// What differs between two states.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The changes, sorted by class and place.
    pub changes: Vec<Change>,
    /// The number of handlers with the same prediction in both states.
    pub unchanged: usize,
    /// The number of handlers with the same prediction whose container, object or namespace is renamed.
    pub renamed: usize,
    /// The number of handlers with the same prediction and with a fault.
    pub unchanged_faults: usize,
    /// The number of findings that both states have and that are not about a handler.
    pub unchanged_findings: usize,
    /// The number of handlers that get worse, or are new with a fault, and whose findings the user has suppressed.
    pub suppressed: usize,
    /// The number of new handlers without a fault.
    pub added_without_fault: usize,
    /// What is not judged in the second state and was judged, or did not exist, in the first.
    pub newly_not_judged: Vec<NotJudged>,
    /// What is judged in neither state although its files differ.
    pub changed_not_judged: Vec<NotJudged>,
    /// What the user must know to read the result, such as a fact that no workload reads.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Returns whether parts that are not judged may hide changes.
    #[must_use]
    pub const fn leaves_something_out(&self) -> bool {
        !self.newly_not_judged.is_empty() || !self.changed_not_judged.is_empty()
    }

    /// Returns whether a change of this class exists.
    #[must_use]
    pub fn has(&self, class: Class) -> bool {
        self.changes.iter().any(|change| change.class == class)
    }
}

/// What a change is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A handler, in one or both states.
    Probe {
        /// The prediction before; `None` if the handler is new.
        before: Option<Box<ProbeState>>,
        /// The prediction after; `None` if the handler does not exist any more.
        after: Option<Box<ProbeState>>,
    },
    /// A finding of `check` that only the second state has.
    NewFinding(Box<Finding>),
    /// A finding of `check` that only the first state has.
    GoneFinding(Box<Finding>),
}

/// One change between two states.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its class.
    pub class: Class,
    /// What it is about.
    pub subject: Subject,
    /// The line or the fact that causes it, if one was found.
    pub cause: Option<Cause>,
    /// What still contains a handler that an environment does not deploy any more, such as "`staging` deploys it"; `None`
    /// for all other changes.
    pub remains: Option<String>,
}

impl Change {
    /// Returns the prediction before and after; both are `None` for a finding.
    #[must_use]
    pub fn probe_states(&self) -> (Option<&ProbeState>, Option<&ProbeState>) {
        match &self.subject {
            Subject::Probe { before, after } => (before.as_deref(), after.as_deref()),
            Subject::NewFinding(_) | Subject::GoneFinding(_) => (None, None),
        }
    }

    /// Returns the prediction of the newest state that has the handler; `None` for a finding.
    #[must_use]
    pub fn probe(&self) -> Option<&ProbeState> {
        let (before, after) = self.probe_states();
        after.or(before)
    }

    /// Returns the finding; `None` for a handler.
    #[must_use]
    pub fn finding(&self) -> Option<&Finding> {
        match &self.subject {
            Subject::NewFinding(finding) | Subject::GoneFinding(finding) => Some(finding),
            Subject::Probe { .. } => None,
        }
    }

    /// Returns the place of the handler or the finding.
    #[must_use]
    pub fn place(&self) -> Option<&Label> {
        let probe = self.probe().map(|probe| &probe.place);
        probe.or_else(|| self.finding().map(|finding| &finding.primary))
    }

    /// Returns whether the place is in the first state, because the second does not have it.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        match &self.subject {
            Subject::Probe { after, .. } => after.is_none(),
            Subject::NewFinding(_) => false,
            Subject::GoneFinding(_) => true,
        }
    }
}

/// Changes of one class with one cause.
#[derive(Clone, Debug)]
pub struct Group<'c> {
    /// The class of all changes.
    pub class: Class,
    /// The cause of all changes; `None` if none was found.
    pub cause: Option<&'c Cause>,
    /// The changes, in order; not empty.
    pub changes: Vec<&'c Change>,
}

/// What the changes of a group have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
enum GroupKey<'c> {
    /// The message and the line of the cause.
    Cause(&'c str, Option<(&'c str, Span)>, Side),
    /// All probes without a cause, or whose causes are their own lines.
    Probes,
    /// A finding of its own, by its index.
    Finding(usize),
}

/// Returns the groups in the order of their first changes.
#[must_use]
pub fn groups(changes: &[Change]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known: HashMap<(Class, GroupKey<'_>), usize> = HashMap::new();
    for (index, change) in changes.iter().enumerate() {
        let next = groups.len();
        let at = *known
            .entry((change.class, key(index, change)))
            .or_insert(next);
        if at == next {
            groups.push(Group {
                class: change.class,
                cause: change.cause.as_ref(),
                changes: Vec::new(),
            });
        }
        if let Some(group) = groups.get_mut(at) {
            // New probes have one heading, and each its own line.
            group.cause = group
                .cause
                .filter(|cause| change.cause.as_ref().map(place) == Some(place(cause)));
            group.changes.push(change);
        }
    }
    groups
}

fn place(cause: &Cause) -> Option<(&str, Span)> {
    let place = cause.place.as_ref();
    place.map(|place| (&*place.path, place.span))
}

fn key(index: usize, change: &Change) -> GroupKey<'_> {
    match (&change.subject, &change.cause) {
        (Subject::NewFinding(_) | Subject::GoneFinding(_), _) => GroupKey::Finding(index),
        (Subject::Probe { .. }, None) => GroupKey::Probes,
        (Subject::Probe { .. }, Some(cause)) => {
            let place = cause.place.as_ref();
            let is_own = |place: &Label| change.place().is_some_and(|own| own.is_at(place));
            let is_single = matches!(change.class, Class::Added | Class::Removed);
            if is_single && place.is_some_and(is_own) {
                return GroupKey::Probes;
            }
            let place = self::place(cause);
            // A line of a base has a message for each namespace.
            let message = if place.is_some() { "" } else { &*cause.message };
            GroupKey::Cause(message, place, cause.side)
        }
    }
}
