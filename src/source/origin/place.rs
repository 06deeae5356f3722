//! Finds a field of a rendered object in the manifest that the object was made from.

use crate::source::file::SourceFile;
use crate::yaml::{Entry, NodeRef, Span};

use super::hops::{Covers, Hop, Hops, name};
use super::objects_of;
use super::said::{Said, name_of};

/// Returns the bytes of the field in `file`, if it is there.
pub(super) fn find(
    file: &SourceFile,
    object: NodeRef<'_>,
    said: &Said,
    hops: &Hops,
) -> Option<Span> {
    let mut node = counterpart(file, object, said)?;
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
                let mut same = node.items().filter(|item| name(*item) == Some(wanted));
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

/// Tells whether the object may come from the file.
pub(super) fn may_come_from(file: &SourceFile, object: NodeRef<'_>, said: &Said) -> bool {
    !alike(file, object, said).is_empty()
}

/// The object that it was made from; `None` where there are several that it might be.
fn counterpart<'t>(file: &'t SourceFile, object: NodeRef<'_>, said: &Said) -> Option<NodeRef<'t>> {
    let alike = alike(file, object, said);
    let [_, _, namespace, name] = name_of(object);
    let named = |wanted: &dyn Fn(&[String; 4]) -> bool| {
        let mut all = alike.iter().filter(|one| wanted(&name_of(**one)));
        let first = all.next().copied();
        first.filter(|_| all.next().is_none())
    };
    match alike.as_slice() {
        [one] => Some(*one),
        // A prefix or a namespace may have been added.
        _ => named(&|[_, _, _, known]| *known == name)
            .or_else(|| named(&|[_, _, within, known]| *known == name && *within == namespace)),
    }
}

/// The objects of the file that this one may have been made from.
fn alike<'t>(file: &'t SourceFile, object: NodeRef<'_>, said: &Said) -> Vec<NodeRef<'t>> {
    let [_, kind, _, name] = name_of(object);
    let documents = file.documents.iter();
    let objects = |index: Option<usize>| {
        let mut at = documents
            .clone()
            .filter(move |one| index.is_none_or(|index| one.index == index));
        let all: Vec<NodeRef<'t>> = at.by_ref().flat_map(objects_of).collect();
        all
    };
    let is = |one: &NodeRef<'_>, kind: &str, fits: &dyn Fn(&str) -> bool| {
        let [_, known, _, its] = name_of(*one);
        known == kind && fits(&its)
    };
    let mut found = match said {
        Said::Package { index, .. } => objects(*index),
        _ => objects(None),
    };
    match said {
        Said::Resource {
            original: Some((kind, name)),
            ..
        } => found.retain(|one| is(one, kind, &|its| its == name)),
        Said::Resource { .. } => {
            found.retain(|one| is(one, &kind, &|its| !its.is_empty() && name.contains(its)));
        }
        _ => found.retain(|one| is(one, &kind, &|its| its == name)),
    }
    found
}
