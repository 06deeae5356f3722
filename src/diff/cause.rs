//! Finds the line or the fact that makes two predictions of a handler differ.

use hashbrown::HashMap;

use crate::finding::Label;
use crate::mesh::Reason;
use crate::source::SourceSet;

use super::probe_state::ProbeState;
use super::state::{below_root, shown_path};

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
}

impl Cause {
    fn of(reason: &Reason, side: Side) -> Self {
        Self {
            message: reason.message.clone(),
            place: reason.place.clone(),
            side,
            is_option: false,
            is_unchanged: false,
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
        }
    }

    /// Returns the cause that a release changed its behaviour.
    pub(super) fn fact(text: &str) -> Self {
        Self {
            message: text.to_owned(),
            place: None,
            side: Side::After,
            is_option: false,
            is_unchanged: false,
        }
    }

    /// Returns the cause that is the changed handler itself.
    fn handler(before: &ProbeState, after: &ProbeState) -> Self {
        Self {
            message: format!(
                "the {} is `{}`, and was `{}`",
                noun(after.id.slot),
                after.written,
                before.written
            ),
            place: Some(after.place.clone()),
            side: Side::After,
            is_option: false,
            is_unchanged: false,
        }
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
            is_unchanged: reason.place.is_some(),
            ..Cause::of(reason, side)
        };
        placed_first(&new)
            .map(|reason| unchanged(reason, Side::After))
            .or_else(|| placed_first(&gone).map(|reason| unchanged(reason, Side::Before)))
    }

    fn is_new_line(&mut self, reason: &Reason) -> bool {
        let place = reason.place.as_ref();
        place.is_some_and(|place| self.after.has_more(place, &mut self.before))
    }

    fn is_gone_line(&mut self, reason: &Reason) -> bool {
        let place = reason.place.as_ref();
        place.is_some_and(|place| self.before.has_more(place, &mut self.after))
    }
}

/// Returns the first reason with a line, or else the first reason.
fn placed_first<'r>(reasons: &[&'r Reason]) -> Option<&'r Reason> {
    let placed = reasons.iter().find(|reason| reason.place.is_some());
    placed.or(reasons.first()).copied()
}

/// Returns the reasons that the other prediction does not have.
fn only_in<'r>(reasons: &'r [Reason], others: &[Reason]) -> Vec<&'r Reason> {
    let is_shared = |reason: &&Reason| others.iter().any(|other| other.message == reason.message);
    reasons.iter().filter(|reason| !is_shared(reason)).collect()
}

/// The lines of the files of one state, with their numbers of occurrences.
#[derive(Debug)]
struct Lines<'a> {
    /// The folder or the file of the tree, as shown to the user.
    root: &'a str,
    set: &'a SourceSet,
    counts: HashMap<String, HashMap<&'a str, usize>>,
}

impl<'a> Lines<'a> {
    fn new(root: &'a str, set: &'a SourceSet) -> Self {
        Self {
            root,
            set,
            counts: HashMap::new(),
        }
    }

    /// Returns whether the line of a label occurs more often in its file than in the same file of the other state.
    fn has_more(&mut self, label: &Label, other: &mut Lines<'_>) -> bool {
        let Some(file) = self.set.file(&label.path) else {
            return false;
        };
        let other_path = shown_path(other.root, below_root(&label.path, self.root));
        if let Some(same) = other.set.file(&other_path)
            && same.text == file.text
        {
            return false;
        }
        let number = file.line_of(label.span);
        let line = file.lines().line(&file.text, number);
        let Some(text) = line.and_then(|span| file.text.get(span.start..span.end)) else {
            return false;
        };
        let text = text.trim();
        self.count(&label.path, text) > other.count(&other_path, text)
    }

    fn count(&mut self, path: &str, line: &str) -> usize {
        if !self.counts.contains_key(path) {
            let mut counts: HashMap<&'a str, usize> = HashMap::new();
            let text: &'a str = self.set.file(path).map_or("", |file| &file.text);
            for line in text.lines() {
                *counts.entry(line.trim()).or_default() += 1;
            }
            self.counts.insert(path.to_owned(), counts);
        }
        let counts = self.counts.get(path);
        counts
            .and_then(|counts| counts.get(line))
            .copied()
            .unwrap_or_default()
    }
}
