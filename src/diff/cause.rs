//! Finds the line or the fact that makes two predictions of a handler differ.

use crate::finding::Label;
use crate::mesh::Reason;
use crate::source::SourceSet;

use super::lines::Lines;
use super::probe_state::ProbeState;

/// The state that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Only the first state has it.
    Before,
    /// The second state.
    After,
}

/// The line or the fact that causes a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What it states, such as "STRICT for namespace `shop`".
    pub message: String,
    /// The line; `None` for a fact of the user or the default of a release.
    pub place: Option<Label>,
    /// The state that has the line.
    pub side: Side,
    /// Whether the message is an option of the user.
    pub is_option: bool,
    /// Whether both states have the line, which decides in only one of them.
    pub is_unchanged: bool,
    /// The file of the mesh, the issue or the measurement that shows the behaviour behind the change.
    pub source: Option<&'static str>,
}

impl Cause {
    fn of(reason: &Reason, side: Side) -> Self {
        Self {
            message: reason.message.clone(),
            place: place_of(reason).cloned(),
            side,
            is_option: false,
            is_unchanged: false,
            source: None,
        }
    }

    /// Returns a cause at a line.
    pub(super) fn at(place: &Label, message: &str, side: Side) -> Self {
        Self {
            message: message.to_owned(),
            place: Some(place.clone()),
            side,
            is_option: false,
            is_unchanged: false,
            source: None,
        }
    }

    /// Returns the cause that the user names with an option.
    #[must_use]
    pub fn option(text: &str) -> Self {
        Self {
            message: format!("`{text}`"),
            place: None,
            side: Side::After,
            is_option: true,
            is_unchanged: false,
            source: None,
        }
    }

    /// Returns the cause that the facts in the configuration file differ.
    #[must_use]
    pub fn configuration(file: &str) -> Self {
        Self {
            message: format!("the changed configuration `{file}`"),
            ..Self::option("")
        }
    }

    /// Returns the cause of a regression that an override in the configuration file hides.
    pub(super) fn hidden(cause: Option<&Self>, file: &str) -> Self {
        let hidden = format!("hidden by an override in the changed configuration `{file}`");
        match cause {
            Some(cause) => Self {
                message: format!("{}, {hidden}", cause.message),
                ..cause.clone()
            },
            None => Self {
                is_option: false,
                message: hidden,
                ..Self::option("")
            },
        }
    }

    /// Returns the cause that a release changed its behaviour.
    pub(super) fn fact(text: &str, source: &'static str) -> Self {
        Self {
            message: text.to_owned(),
            place: None,
            side: Side::After,
            is_option: false,
            is_unchanged: false,
            source: Some(source),
        }
    }

    /// Returns the cause that is the changed handler itself.
    fn handler(before: &ProbeState, after: &ProbeState) -> Self {
        let noun = noun(after.id.slot);
        let message = format!(
            "the {noun} is `{}`, and was `{}`",
            after.written, before.written
        );
        Self::at(&after.place, &message, Side::After)
    }
}

/// Returns the noun for a slot.
fn noun(slot: &str) -> &'static str {
    if slot.ends_with("robe") {
        "probe"
    } else {
        "hook"
    }
}

/// Finds causes in the files of two states.
#[derive(Debug)]
pub(super) struct Causes<'a> {
    before: Lines<'a>,
    after: Lines<'a>,
}

impl<'a> Causes<'a> {
    /// Prepares the search in the files of two states, each with the root of its tree.
    pub(super) fn new(before: (&'a str, &'a SourceSet), after: (&'a str, &'a SourceSet)) -> Self {
        Self {
            before: Lines::new(before.0, before.1),
            after: Lines::new(after.0, after.1),
        }
    }

    /// Returns the cause of the difference between two predictions: a reason whose line only the second state has, else
    /// one whose line only the first state has, else the changed handler, else a changed line, else a reason that only
    /// one prediction has.
    pub(super) fn of(&mut self, before: &ProbeState, after: &ProbeState) -> Option<Cause> {
        let new = only_in(&after.because, &before.because);
        let gone = only_in(&before.because, &after.because);
        let new_line = new.iter().find(|reason| self.is_new_line(reason));
        if let Some(reason) = new_line {
            return Some(Cause::of(reason, Side::After));
        }
        let gone_line = gone.iter().find(|reason| self.is_gone_line(reason));
        if let Some(reason) = gone_line {
            return Some(Cause::of(reason, Side::Before));
        }
        if before.written != after.written {
            return Some(Cause::handler(before, after));
        }
        let all = after.because.iter();
        let changed_line = all.into_iter().find(|reason| self.is_new_line(reason));
        if let Some(reason) = changed_line {
            return Some(Cause::of(reason, Side::After));
        }
        let unchanged = |reason: &Reason, side: Side| Cause {
            is_unchanged: place_of(reason).is_some(),
            ..Cause::of(reason, side)
        };
        placed_first(&new)
            .map(|reason| unchanged(reason, Side::After))
            .or_else(|| placed_first(&gone).map(|reason| unchanged(reason, Side::Before)))
    }

    /// Returns the cause of a new handler with a fault: its line, else a deciding line that only the second state has,
    /// else the environment that deploys it.
    pub(super) fn of_added(&mut self, probe: &ProbeState) -> Cause {
        self.of_single(probe, Side::After)
    }

    /// Returns the cause that a handler does not exist any more: its line, or the environment that deployed it.
    pub(super) fn of_removed(&mut self, probe: &ProbeState) -> Cause {
        self.of_single(probe, Side::Before)
    }

    fn of_single(&mut self, probe: &ProbeState, side: Side) -> Cause {
        let (own, other) = self.sides(side);
        let noun = noun(probe.id.slot);
        if own.has_more(&probe.place, other) {
            let message = match side {
                Side::Before => format!("the {noun} `{}` is removed", probe.written),
                Side::After => format!("the {noun} `{}` is new", probe.written),
            };
            return Cause::at(&probe.place, &message, side);
        }
        let mut reasons = probe.because.iter();
        let is_own = |reason: &&Reason| place_of(reason).is_some_and(|at| own.has_more(at, other));
        if side == Side::After
            && let Some(reason) = reasons.find(is_own)
        {
            return Cause::of(reason, side);
        }
        self.of_environment(probe, side)
    }

    /// Returns the lines of a state, and those of the other one.
    pub(super) const fn sides(&mut self, side: Side) -> (&mut Lines<'a>, &mut Lines<'a>) {
        match side {
            Side::Before => (&mut self.before, &mut self.after),
            Side::After => (&mut self.after, &mut self.before),
        }
    }

    fn is_new_line(&mut self, reason: &Reason) -> bool {
        place_of(reason).is_some_and(|place| self.after.has_more(place, &mut self.before))
    }

    fn is_gone_line(&mut self, reason: &Reason) -> bool {
        place_of(reason).is_some_and(|place| self.before.has_more(place, &mut self.after))
    }
}

/// Returns the line that states a reason or suggests it.
fn place_of(reason: &Reason) -> Option<&Label> {
    reason.place.as_ref().or(reason.evidence.as_ref())
}

/// Returns the first reason with a line, or else the first reason.
fn placed_first<'r>(reasons: &[&'r Reason]) -> Option<&'r Reason> {
    let placed = reasons.iter().find(|reason| place_of(reason).is_some());
    placed.or(reasons.first()).copied()
}

/// Returns the reasons that the other prediction does not have.
fn only_in<'r>(reasons: &'r [Reason], others: &[Reason]) -> Vec<&'r Reason> {
    let is_shared = |reason: &&Reason| others.iter().any(|other| other.message == reason.message);
    reasons.iter().filter(|reason| !is_shared(reason)).collect()
}
