//! Strategic merge patches, as kustomize applies them.
//!
//! Follows `kyaml/yaml/merge2` and `kyaml/yaml/walk` of kustomize 5.8.2, with what differs from
//! kubectl: items of a patch come first, `$patch: replace` on an item of a merged list changes
//! nothing, empty values (`key:`) of the object disappear on the way.

use std::sync::Arc;

use super::limit::Limit;
use super::list;
use super::node::{Field, Node, Value, equal};
use super::schema::Type;
use super::share;

const DIRECTIVE: &str = "$patch";

/// Why a patch cannot be applied to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// kustomize refuses it, too; the reason in words.
    Refused(String),
    /// kustomize applies it, but not within the limits of this program.
    Exceeds(Limit),
}

/// What a step of the merge leaves.
#[derive(Debug)]
pub(super) enum Merged {
    /// The value of the object, changed in place.
    Object(Node),
    /// The value of the patch.
    Patch(Node),
    /// Nothing.
    Gone,
}

impl Merged {
    pub(super) fn into_node(self) -> Option<Node> {
        match self {
            Self::Object(node) | Self::Patch(node) => Some(node),
            Self::Gone => None,
        }
    }
}

/// Merges `patch` into `object`; `None` if the patch deletes it. kustomize takes over what is
/// changed in place only (`ApplyFilter` in `api/resource/resource.go`), so that a patch that
/// replaces the whole object changes nothing.
pub(super) fn merge(object: &Node, patch: &Node, kind: Type) -> Result<Option<Node>, Misfit> {
    Ok(match walk(Some(object), Some(patch), kind, None)? {
        Merged::Object(mut merged) => {
            share::settle(object, &mut merged);
            Some(merged)
        }
        Merged::Patch(_) => Some(object.clone()),
        Merged::Gone => None,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn of(value: Option<&Node>) -> Result<Self, Misfit> {
        match value.and_then(Node::text) {
            None | Some("merge") => Ok(Self::Merge),
            Some("replace") => Ok(Self::Replace),
            Some("delete") => Ok(Self::Delete),
            Some(other) => Err(Misfit::Refused(format!("`$patch: {other}` is unknown"))),
        }
    }
}

/// Where a list stands: the type around it, and its key.
type Place<'k> = (Type, &'k str);

/// Merges two values of the type `kind`; `place` is given where a list may be merged.
pub(super) fn walk(
    object: Option<&Node>,
    patch: Option<&Node>,
    kind: Type,
    place: Option<Place<'_>>,
) -> Result<Merged, Misfit> {
    let written = |node: &&Node| !node.is_null();
    let shape = object.filter(written).or(patch.filter(written));
    if let (Some(object), Some(patch)) = (object.filter(written), patch.filter(written)) {
        same_shape(object, patch)?;
    }
    match shape.map(|node| &node.value) {
        Some(Value::Seq(_)) => {
            let keys = place.and_then(|(around, key)| around.merge_keys(key));
            match keys {
                Some(keys) => walk_list(object, patch, kind, keys),
                None => Ok(later(object, patch)),
            }
        }
        Some(Value::Leaf(_)) => Ok(later(object, patch)),
        Some(Value::Map(_)) | None => walk_map(object, patch, kind),
    }
}

fn same_shape(object: &Node, patch: &Node) -> Result<(), Misfit> {
    let word = |node: &Node| match node.value {
        Value::Leaf(_) => "a single value",
        Value::Map(_) => "a mapping",
        Value::Seq(_) => "a list",
    };
    if word(object) == word(patch) {
        return Ok(());
    }
    Err(Misfit::Refused(format!(
        "the patch has {} where the object has {}",
        word(patch),
        word(object)
    )))
}

/// The patch wins where it says something else.
fn later(object: Option<&Node>, patch: Option<&Node>) -> Merged {
    match (object, patch) {
        (Some(object), Some(patch)) if share::bond(object).is_some() => {
            Merged::Patch(share::in_place_of(object, patch))
        }
        (Some(object), Some(patch)) if equal(object, patch) => Merged::Object(object.clone()),
        (_, Some(patch)) => Merged::Patch(patch.clone()),
        (Some(object), None) => Merged::Object(object.clone()),
        (None, None) => Merged::Gone,
    }
}

fn walk_map(object: Option<&Node>, patch: Option<&Node>, kind: Type) -> Result<Merged, Misfit> {
    let directive = Directive::of(patch.and_then(|patch| patch.get(DIRECTIVE)));
    let Some(object) = object.filter(|object| !object.is_null()) else {
        return match (object, patch) {
            (_, Some(_)) if directive == Ok(Directive::Delete) => Ok(Merged::Gone),
            (_, Some(patch)) => Ok(Merged::Patch(fresh(patch, kind)?)),
            // `key: null` stays, `key:` goes.
            (Some(null), None) if null.text().is_some_and(|text| !text.is_empty()) => {
                Ok(Merged::Object(null.clone()))
            }
            _ => Ok(Merged::Gone),
        };
    };
    if patch.is_some_and(Node::is_null) {
        return Ok(Merged::Gone);
    }
    match (directive?, patch) {
        (Directive::Delete, _) => Ok(Merged::Gone),
        (Directive::Replace, Some(patch)) => Ok(Merged::Patch(fresh(patch, kind)?)),
        _ => Ok(Merged::Object(merge_fields(object, patch, kind)?)),
    }
}

/// A value that only the patch has: merged with itself, which drops its nulls and directives.
fn fresh(patch: &Node, kind: Type) -> Result<Node, Misfit> {
    if !matches!(patch.value, Value::Map(_)) {
        return Ok(patch.clone());
    }
    let mut bare = patch.clone();
    bare.remove(DIRECTIVE);
    merge_fields(&bare, Some(&bare), kind)
}

fn merge_fields(object: &Node, patch: Option<&Node>, kind: Type) -> Result<Node, Misfit> {
    let mut fields = Vec::with_capacity(object.fields().len());
    // What is merged with itself has its own directive on both sides.
    let directive = patch.and_then(|patch| patch.get(DIRECTIVE));
    let said = |field: &&Field| directive.is_none() || *field.key != *DIRECTIVE;
    for field in object.fields().iter().filter(said) {
        let theirs = patch.and_then(|patch| patch.field(&field.key));
        fields.extend(merge_field(Some(field), theirs, kind)?);
    }
    let is_new = |field: &&Field| *field.key != *DIRECTIVE && object.get(&field.key).is_none();
    let mut new: Vec<&Field> = patch
        .map_or(&[][..], Node::fields)
        .iter()
        .filter(is_new)
        .collect();
    new.sort_by(|a, b| a.key.cmp(&b.key));
    for field in new {
        fields.extend(merge_field(None, Some(field), kind)?);
    }
    Ok(Node {
        value: Value::Map(Arc::new(fields.into())),
        origin: object.origin.clone(),
    })
}

fn merge_field(
    object: Option<&Field>,
    patch: Option<&Field>,
    kind: Type,
) -> Result<Option<Field>, Misfit> {
    let Some(named) = object.or(patch) else {
        return Ok(None);
    };
    let merged = walk(
        object.map(|field| &field.value),
        patch.map(|field| &field.value),
        kind.field(&named.key),
        Some((kind, &named.key)),
    )?;
    let (owner, value) = match merged {
        Merged::Gone => return Ok(None),
        // A null that the object itself spells out stays.
        Merged::Object(value) => (object, value),
        Merged::Patch(value) if value.is_null() => return Ok(None),
        // Who brings the value in brings the key.
        Merged::Patch(value) => (patch, value),
    };
    Ok(Some(Field {
        key: named.key.clone(),
        origin: owner.unwrap_or(named).origin.clone(),
        value,
    }))
}

fn walk_list(
    object: Option<&Node>,
    patch: Option<&Node>,
    kind: Type,
    keys: &[&str],
) -> Result<Merged, Misfit> {
    let Some(object) = object.filter(|object| !object.is_null()) else {
        let Some(patch) = patch else {
            return Ok(Merged::Gone);
        };
        let items = list::fresh(patch.items(), keys, kind)?;
        return Ok(Merged::Patch(with_items(patch, items)));
    };
    if patch.is_some_and(Node::is_null) {
        return Ok(Merged::Gone);
    }
    let theirs = patch.map_or(&[][..], Node::items);
    let alone = theirs
        .iter()
        .find(|item| item.get(DIRECTIVE).is_some())
        .filter(|item| item.fields().len() == 1);
    let directive = Directive::of(alone.and_then(|item| item.get(DIRECTIVE)))?;
    let rest: Vec<Node> = theirs
        .iter()
        .filter(|item| alone.is_none() || item.get(DIRECTIVE).is_none())
        .cloned()
        .collect();
    match (directive, patch) {
        (Directive::Delete, _) => Ok(Merged::Gone),
        (Directive::Replace, Some(patch)) => {
            let items = list::fresh(&rest, keys, kind)?;
            Ok(Merged::Patch(with_items(patch, items)))
        }
        _ => {
            let items = list::merge(object.items(), &rest, keys, kind)?;
            Ok(Merged::Object(with_items(object, items)))
        }
    }
}

fn with_items(list: &Node, items: Vec<Node>) -> Node {
    Node {
        value: Value::Seq(items.into()),
        origin: list.origin.clone(),
    }
}
