//! Finds a field of a rendered object in the source manifest of the object.

use meshprobe_yaml::{Entry, NodeRef, Span};

use super::field_steps::{Covers, FieldStep, FieldSteps, name};
use super::original::{LONGEST_NAME, Named, Original};
use crate::source::origin::hint::{OriginHint, name_of};

/// Returns the bytes of the field in the file, if it is there.
pub(super) fn find(
    original: &Original,
    object: NodeRef<'_>,
    hint: &OriginHint,
    path: &FieldSteps<'_>,
) -> Option<Span> {
    let mut node = counterpart(original, object, hint)?;
    let mut last: Option<Entry<'_>> = None;
    for step in &path.steps {
        match step {
            FieldStep::Key(key) => {
                let entry = node.entry(key)?;
                node = entry.value;
                last = Some(entry);
            }
            FieldStep::Item {
                name: Some(wanted), ..
            } => {
                let mut matching = node.items().filter(|item| name(*item) == Some(*wanted));
                node = matching.next()?;
                if matching.next().is_some() {
                    return None;
                }
                last = None;
            }
            FieldStep::Item { index, of, .. } => {
                // If items were added or removed, the index may be that of another item.
                let is_same_length = node.items().len() == *of;
                node = node.item(*index).filter(|_| is_same_length)?;
                last = None;
            }
        }
    }
    Some(match (path.covers, last) {
        (Covers::Key, Some(entry)) => entry.key.span(),
        (Covers::Entry, Some(entry)) => entry.span(),
        _ => node.span(),
    })
}

/// Returns whether the object may come from the file.
pub(super) fn may_come_from(original: &Original, object: NodeRef<'_>, hint: &OriginHint) -> bool {
    let document = document(hint);
    candidates(original, object, hint)
        .iter()
        .any(|(_, named)| !original.within(&named.all, document).is_empty())
}

/// Returns the source of a rendered object; `None` if there are several candidates.
fn counterpart<'t>(
    original: &'t Original,
    object: NodeRef<'_>,
    hint: &OriginHint,
) -> Option<NodeRef<'t>> {
    let [_, _, namespace, name] = name_of(object);
    let document = document(hint);
    let candidates = candidates(original, object, hint);
    let mut all = candidates
        .iter()
        .flat_map(|(_, named)| original.within(&named.all, document));
    if let (Some(number), None) = (all.next(), all.next()) {
        return original.object(*number);
    }
    let (_, named) = candidates.iter().find(|(known, _)| *known == name)?;
    let only = |numbers: &[usize]| match original.within(numbers, document) {
        [number] => original.object(*number),
        _ => None,
    };
    // A prefix or a namespace may have been added.
    only(&named.all).or_else(|| only(named.by_namespace.get(&namespace)?))
}

/// Returns the objects of the file that may be the source of a rendered object, by their names.
fn candidates<'t>(
    original: &'t Original,
    object: NodeRef<'_>,
    hint: &OriginHint,
) -> Vec<(&'t str, &'t Named)> {
    let [_, kind, _, name] = name_of(object);
    let of_name = |kind: &str, name: &str| {
        let named = original.kind(kind).and_then(|names| names.get(name));
        named.into_iter().collect()
    };
    match hint {
        OriginHint::Resource {
            original: Some((kind, name)),
            ..
        } => of_name(kind, name),
        // Longer names are not valid.
        OriginHint::Resource { .. } if name.len() > LONGEST_NAME => Vec::new(),
        OriginHint::Resource { .. } => {
            let names = original.kind(&kind);
            names.map(|names| names.parts_of(&name)).unwrap_or_default()
        }
        _ => of_name(&kind, &name),
    }
}

/// Returns the number of the document from which the object comes, according to the hint.
const fn document(hint: &OriginHint) -> Option<usize> {
    match hint {
        OriginHint::Package { index, .. } => *index,
        _ => None,
    }
}
