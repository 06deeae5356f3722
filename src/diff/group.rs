//! Groups changes that have one cause.

use hashbrown::HashMap;
use meshprobe_mesh::finding::Label;
use meshprobe_yaml::Span;

use super::cause::Cause;
use super::change::{Change, Subject};
use super::class::Class;
use super::side::Side;

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
