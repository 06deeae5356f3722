//! Finds a field of a rendered object in the manifest that the object was made from.

use crate::yaml::{Entry, NodeRef, Span};

use super::hops::{Covers, Hop, Hops, name};
use super::original::{LONGEST_NAME, Named, Original};
use super::said::{Said, name_of};

/// Returns the bytes of the field in the file, if it is there.
pub(super) fn find(
    original: &Original,
    object: NodeRef<'_>,
    said: &Said,
    hops: &Hops<'_>,
) -> Option<Span> {
    let mut node = counterpart(original, object, said)?;
    let mut last: Option<Entry<'_>> = None;
    for hop in &hops.steps {
        match hop {
            Hop::Key(key) => {
                let entry = node.entry(key)?;
                node = entry.value;
                last = Some(entry);
            }
            Hop::Item {
                name: Some(wanted), ..
            } => {
                let mut same = node.items().filter(|item| name(*item) == Some(*wanted));
                node = same.next()?;
                if same.next().is_some() {
                    return None;
                }
                last = None;
            }
            Hop::Item { index, of, .. } => {
                // Where items came or went, their numbers mean nothing.
                let same = node.items().len() == *of;
                node = node.item(*index).filter(|_| same)?;
                last = None;
            }
        }
    }
    Some(match (hops.covers, last) {
        (Covers::Key, Some(entry)) => entry.key.span(),
        (Covers::Entry, Some(entry)) => entry.span(),
        _ => node.span(),
    })
}

/// Reports whether the object may come from the file.
pub(super) fn may_come_from(original: &Original, object: NodeRef<'_>, said: &Said) -> bool {
    let document = document(said);
    let mut alike = alike(original, object, said).into_iter();
    alike.any(|(_, named)| !original.within(&named.all, document).is_empty())
}

/// The object that it was made from; `None` where there are several that it might be.
fn counterpart<'t>(
    original: &'t Original,
    object: NodeRef<'_>,
    said: &Said,
) -> Option<NodeRef<'t>> {
    let [_, _, namespace, name] = name_of(object);
    let document = document(said);
    let alike = alike(original, object, said);
    let mut all = alike
        .iter()
        .flat_map(|(_, named)| original.within(&named.all, document));
    if let (Some(one), None) = (all.next(), all.next()) {
        return original.object(*one);
    }
    let (_, named) = alike.iter().find(|(known, _)| *known == name)?;
    let only = |numbers: &[usize]| match original.within(numbers, document) {
        [one] => original.object(*one),
        _ => None,
    };
    // A prefix or a namespace may have been added.
    only(&named.all).or_else(|| only(named.by_namespace.get(&namespace)?))
}

/// The objects of the file that this one may have been made from, by their names.
fn alike<'t>(
    original: &'t Original,
    object: NodeRef<'_>,
    said: &Said,
) -> Vec<(&'t str, &'t Named)> {
    let [_, kind, _, name] = name_of(object);
    let of_name = |kind: &str, name: &str| {
        let named = original.kind(kind).and_then(|names| names.get(name));
        named.into_iter().collect()
    };
    match said {
        Said::Resource {
            original: Some((kind, name)),
            ..
        } => of_name(kind, name),
        // No object can have a longer name.
        Said::Resource { .. } if name.len() > LONGEST_NAME => Vec::new(),
        Said::Resource { .. } => {
            let names = original.kind(&kind);
            names.map(|names| names.parts_of(&name)).unwrap_or_default()
        }
        _ => of_name(&kind, &name),
    }
}

/// The number of the document that the object is said to come from.
const fn document(said: &Said) -> Option<usize> {
    match said {
        Said::Package { index, .. } => *index,
        _ => None,
    }
}
