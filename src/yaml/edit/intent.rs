//! Gathers all changes of a document into one fate per node.
//!
//! Changes that meet in the same new parent become one addition, and changes that contradict
//! each other are found before any text is planned.

use super::EditError;
use super::fate::{Addition, Fate, Own, Place};
use crate::yaml::change::{Change, Value};
use crate::yaml::merge::first_duplicate;
use crate::yaml::route::{Route, Step};
use crate::yaml::same::same;
use crate::yaml::tree::{Kind, NodeRef};

/// Keys with a place of their own: parent, key, the sibling to look for, whether it goes before.
const PLACES: [(&str, &str, &str, bool); 3] = [
    ("metadata", "annotations", "labels", false),
    ("template", "metadata", "spec", true),
    ("", "metadata", "spec", true),
];

/// Gathers `changes`; routes start at `root`.
pub(super) fn gather(root: NodeRef<'_>, changes: &[Change]) -> Result<Fate, EditError> {
    let mut fate = Fate::default();
    for change in pending(root, changes) {
        let walk = Walk {
            action: Action::of(change),
            route: change.route(),
        };
        walk.apply(&mut fate, root, "", change.route().steps())?;
    }
    Ok(fate)
}

/// Returns the changes that are still to be made: all but the settings that hold already, unless
/// another change speaks of the same place.
pub(super) fn pending<'c>(root: NodeRef<'_>, changes: &'c [Change]) -> Vec<&'c Change> {
    let meets = |one: &Change, other: &Change| {
        let (one, other) = (one.route().steps(), other.route().steps());
        one.starts_with(other) || other.starts_with(one)
    };
    let holds = |index: usize, change: &Change| {
        let Change::Set { route, value } = change else {
            return false;
        };
        let mut others = changes.iter().enumerate().filter(|(at, _)| *at != index);
        root.at(route).is_some_and(|node| same(node, value))
            && !others.any(|(_, other)| meets(change, other))
    };
    let all = changes.iter().enumerate();
    all.filter(|(index, change)| !holds(*index, change))
        .map(|(_, change)| change)
        .collect()
}

/// What a change does at the end of its route.
#[derive(Clone, Copy)]
pub(super) enum Action<'c> {
    Set(&'c Value),
    Replace(&'c str, &'c Value),
    Push(&'c Value),
    Remove,
}

impl<'c> Action<'c> {
    fn of(change: &'c Change) -> Self {
        match change {
            Change::Set { value, .. } => Self::Set(value),
            Change::Replace { key, value, .. } => Self::Replace(key, value),
            Change::Push { value, .. } => Self::Push(value),
            Change::Remove { .. } => Self::Remove,
        }
    }

    /// Tells whether the parent of the addressed node has to act.
    pub(super) const fn concerns_parent(self) -> bool {
        matches!(self, Self::Replace(..) | Self::Remove)
    }
}

/// One change on its way through the document.
pub(super) struct Walk<'c> {
    pub(super) action: Action<'c>,
    route: &'c Route,
}

impl Walk<'_> {
    pub(super) fn error<T>(&self, node: NodeRef<'_>, reason: &str) -> Result<T, EditError> {
        Err(EditError {
            offset: node.span().start,
            reason: format!("cannot change `{}`: {reason}", self.route),
        })
    }

    fn apply(
        &self,
        fate: &mut Fate,
        node: NodeRef<'_>,
        name: &str,
        steps: &[Step],
    ) -> Result<(), EditError> {
        match &mut fate.own {
            Own::Rename(..) | Own::Remove => {
                return self.error(node, "another change takes it away");
            }
            Own::Become(value) => return self.inside_value(value, node, steps),
            Own::Keep => {}
        }
        let Some((first, rest)) = steps.split_first() else {
            return self.arrive(fate, node);
        };
        match (node.kind(), first) {
            (Kind::Mapping, Step::Key(key)) => self.enter(fate, node, name, key, rest),
            (Kind::Sequence, Step::Index(index)) => self.pass(fate, node, *index, rest),
            (Kind::Scalar, Step::Key(_)) if node.is_null() => match self.missing(node, steps)? {
                Some(value) => {
                    fate.own = Own::Become(value);
                    Ok(())
                }
                None => Ok(()),
            },
            (Kind::Alias, _) => self.error(node, "an alias stands in the way"),
            (Kind::Mapping, _) => self.error(node, "a mapping has no numbered items"),
            (Kind::Sequence, _) => self.error(node, "a list has no keys"),
            (Kind::Scalar, _) => {
                self.error(node, "a single value stands where fields are expected")
            }
        }
    }

    /// The route ends at `node`.
    fn arrive(&self, fate: &mut Fate, node: NodeRef<'_>) -> Result<(), EditError> {
        match self.action {
            Action::Set(_) if fate.takes_away() => {
                return self.error(node, "another change takes away a part of it");
            }
            Action::Set(value) => *fate = Fate::new(Own::Become(value.clone())),
            Action::Push(value) => match node.kind() {
                Kind::Sequence => fate.added.push(Addition {
                    place: None,
                    key: None,
                    value: value.clone(),
                }),
                Kind::Scalar if node.is_null() => {
                    fate.own = Own::Become(Value::Seq(vec![value.clone()]));
                }
                _ => return self.error(node, "it is no list"),
            },
            Action::Remove | Action::Replace(..) => {
                return self.error(node, "the whole document cannot be taken away");
            }
        }
        Ok(())
    }

    fn enter(
        &self,
        fate: &mut Fate,
        node: NodeRef<'_>,
        name: &str,
        key: &str,
        rest: &[Step],
    ) -> Result<(), EditError> {
        self.refuse_duplicates(node)?;
        let Some((index, value)) = own_entry(node, key) else {
            return self.add(fate, node, name, key, rest);
        };
        let taken = rest.is_empty() && self.action.concerns_parent();
        if let Action::Replace(new, _) = self.action
            && taken
            && brings_in(fate, new, index)
        {
            return self.error(node, "another change brings in the same key");
        }
        let child = fate.children.entry(index).or_default();
        if taken {
            return self.take_away(child, node, key, value);
        }
        self.apply(child, value, key, rest)
    }

    fn pass(
        &self,
        fate: &mut Fate,
        node: NodeRef<'_>,
        index: usize,
        rest: &[Step],
    ) -> Result<(), EditError> {
        let Some(item) = node.item(index) else {
            return self.error(node, "the list has no such item");
        };
        let child = fate.children.entry(index).or_default();
        match self.action {
            Action::Replace(..) if rest.is_empty() => self.error(item, "an item has no key"),
            Action::Remove if rest.is_empty() => {
                if !child.is_untouched() && !matches!(child.own, Own::Remove) {
                    return self.error(item, "another change speaks of it");
                }
                child.own = Own::Remove;
                Ok(())
            }
            _ => self.apply(child, item, "", rest),
        }
    }

    /// Marks an entry as removed or replaced.
    fn take_away(
        &self,
        child: &mut Fate,
        mapping: NodeRef<'_>,
        old: &str,
        value: NodeRef<'_>,
    ) -> Result<(), EditError> {
        if self.is_taken_alike(child) {
            return Ok(());
        }
        if !child.is_untouched() {
            return self.error(value, "another change speaks of it");
        }
        child.own = match self.action {
            Action::Replace(key, new) if key == old => Own::Become(new.clone()),
            Action::Replace(key, _) if own_entry(mapping, key).is_some() => {
                return self.error(value, &format!("`{key}` stands beside it already"));
            }
            Action::Replace(key, new) => Own::Rename(key.to_owned(), new.clone()),
            _ => Own::Remove,
        };
        Ok(())
    }

    /// Tells whether an earlier change asks for just the same.
    fn is_taken_alike(&self, child: &Fate) -> bool {
        match (self.action, &child.own) {
            (Action::Remove, Own::Remove) => true,
            (Action::Replace(key, new), Own::Rename(name, value)) => key == name && new == value,
            _ => false,
        }
    }

    /// The mapping has no entry `key`.
    fn add(
        &self,
        fate: &mut Fate,
        node: NodeRef<'_>,
        name: &str,
        key: &str,
        rest: &[Step],
    ) -> Result<(), EditError> {
        if rest.is_empty() && self.action.concerns_parent() {
            return self.gone(node);
        }
        let renamed = |fate: &Fate| matches!(&fate.own, Own::Rename(new, _) if new == key);
        if fate.children.values().any(renamed) {
            return self.error(
                node,
                "another change puts this key in the place of an old one",
            );
        }
        if let Some(addition) = fate
            .added
            .iter_mut()
            .find(|addition| addition.key.as_deref() == Some(key))
        {
            return self.inside_value(&mut addition.value, node, rest);
        }
        if let Some(value) = self.missing(node, rest)? {
            fate.added.push(Addition {
                place: place_of(node, name, key),
                key: Some(key.to_owned()),
                value,
            });
        }
        Ok(())
    }

    /// What a change takes away is not there: fine where the change is made already.
    fn gone(&self, mapping: NodeRef<'_>) -> Result<(), EditError> {
        match self.action {
            Action::Replace(key, value) => match own_entry(mapping, key) {
                Some((_, present)) if same(present, value) => Ok(()),
                _ => self.error(mapping, "there is no such field"),
            },
            _ => Ok(()),
        }
    }

    fn refuse_duplicates(&self, mapping: NodeRef<'_>) -> Result<(), EditError> {
        match first_duplicate(mapping) {
            Some(later) => self.error(later, "a key of this mapping occurs twice"),
            None => Ok(()),
        }
    }
}

/// Returns the written entry of `key`, no merge key followed: its index and value.
pub(super) fn own_entry<'t>(mapping: NodeRef<'t>, key: &str) -> Option<(usize, NodeRef<'t>)> {
    let found = mapping
        .entries()
        .enumerate()
        .rfind(|(_, entry)| !entry.key.is_merge_key() && entry.key.text() == Some(key))?;
    Some((found.0, found.1.value))
}

/// Tells whether a new entry, or one in the place of another than the one at `index`, has `key`.
fn brings_in(fate: &Fate, key: &str, index: usize) -> bool {
    let renamed = |own: &Own| matches!(own, Own::Rename(new, _) if new == key);
    let mut others = fate.children.iter().filter(|(at, _)| **at != index);
    others.any(|(_, child)| renamed(&child.own))
        || fate.added.iter().any(|one| one.key.as_deref() == Some(key))
}

fn place_of(mapping: NodeRef<'_>, name: &str, key: &str) -> Option<Place> {
    let (.., sibling, before) = PLACES
        .iter()
        .find(|(parent, own, ..)| *parent == name && *own == key)?;
    let (index, _) = own_entry(mapping, sibling)?;
    Some(match (before, index.checked_sub(1)) {
        (false, _) => Place::After(index),
        (true, Some(previous)) => Place::After(previous),
        (true, None) => Place::First,
    })
}
