//! Strategic merge patches, as kustomize applies them.
//!
//! Follows `kyaml/yaml/merge2` and `kyaml/yaml/walk` of kustomize 5.8.2. Differences from kubectl:
//! items of a patch come first, `$patch: replace` on an item of a merged list has no effect, and empty
//! values (`key:`) of the object are removed.

use std::cell::Cell;
use std::sync::Arc;

use crate::kustomize::merged::{Merged, PatchFailure};
use crate::kustomize::node::{Field, Mapping, Node, Value, equal};
use crate::kustomize::schema::Type;
use crate::kustomize::{list, share};

const DIRECTIVE: &str = "$patch";

/// Merges `patch` into `object`; `None` if the patch deletes it. kustomize keeps only changes in place
/// (`ApplyFilter` in `api/resource/resource.go`), so a patch that replaces the whole object has no effect.
pub(crate) fn merge(object: &Node, patch: &Node, kind: Type) -> Result<Option<Node>, PatchFailure> {
    let merge = Merge::default();
    Ok(match merge.walk(Some(object), Some(patch), kind, None)? {
        Merged::Object(mut merged) => {
            if let Some(key) = repeated_key(patch).and_then(|_| repeated_key(&merged)) {
                return Err(PatchFailure::Refused(format!(
                    "the key `{key}` is set twice in a value that only the patch has"
                )));
            }
            if merge.replaces_shared.get() {
                share::settle(object, &mut merged);
            }
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
    fn of(value: Option<&Node>) -> Result<Self, PatchFailure> {
        match value.and_then(Node::text) {
            None | Some("merge") => Ok(Self::Merge),
            Some("replace") => Ok(Self::Replace),
            Some("delete") => Ok(Self::Delete),
            Some(other) => Err(PatchFailure::Refused(format!(
                "`$patch: {other}` is unknown"
            ))),
        }
    }
}

/// Parent type and key of a list.
type Place<'k> = (Type, &'k str);

/// Merge of a patch into an object.
#[derive(Default)]
pub(crate) struct Merge {
    /// Whether a shared value of the object was replaced.
    replaces_shared: Cell<bool>,
}

impl Merge {
    /// Merges two values of the type `kind`; `place` is set if a list may be merged by keys.
    pub(crate) fn walk(
        &self,
        object: Option<&Node>,
        patch: Option<&Node>,
        kind: Type,
        place: Option<Place<'_>>,
    ) -> Result<Merged, PatchFailure> {
        let is_set = |node: &&Node| !node.is_null();
        let shape = object.filter(is_set).or(patch.filter(is_set));
        if let (Some(object), Some(patch)) = (object.filter(is_set), patch.filter(is_set)) {
            check_same_shape(object, patch)?;
        }
        match shape.map(|node| &node.value) {
            Some(Value::Seq(_)) => {
                let keys = place.and_then(|(parent, key)| parent.merge_keys(key));
                match keys {
                    Some(keys) => self.walk_list(object, patch, kind, keys),
                    None => Ok(self.replaced(object, patch)),
                }
            }
            Some(Value::Leaf(_)) => Ok(self.replaced(object, patch)),
            Some(Value::Map(_)) | None => self.walk_map(object, patch, kind),
        }
    }

    /// Returns the value of the patch if it differs from that of the object.
    fn replaced(&self, object: Option<&Node>, patch: Option<&Node>) -> Merged {
        match (object, patch) {
            (Some(object), Some(patch)) if share::shared_id(object).is_some() => {
                self.replaces_shared.set(true);
                Merged::Patch(share::in_place_of(object, patch))
            }
            (Some(object), Some(patch)) if equal(object, patch) => Merged::Object(object.clone()),
            (_, Some(patch)) => Merged::Patch(patch.clone()),
            (Some(object), None) => Merged::Object(object.clone()),
            (None, None) => Merged::Gone,
        }
    }

    fn walk_map(
        &self,
        object: Option<&Node>,
        patch: Option<&Node>,
        kind: Type,
    ) -> Result<Merged, PatchFailure> {
        let directive = Directive::of(patch.and_then(|patch| patch.get(DIRECTIVE)));
        let Some(object) = object.filter(|object| !object.is_null()) else {
            return match (object, patch) {
                (_, Some(_)) if directive == Ok(Directive::Delete) => Ok(Merged::Gone),
                (_, Some(patch)) => Ok(Merged::Patch(self.fresh(patch, kind)?)),
                // kustomize keeps `key: null` and removes `key:`.
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
            (Directive::Replace, Some(patch)) => Ok(Merged::Patch(self.fresh(patch, kind)?)),
            _ => Ok(Merged::Object(self.merge_fields(object, patch, kind)?)),
        }
    }

    /// Merges a value that only the patch has with itself, which removes its nulls and directives.
    fn fresh(&self, patch: &Node, kind: Type) -> Result<Node, PatchFailure> {
        if !matches!(patch.value, Value::Map(_)) {
            return Ok(patch.clone());
        }
        self.merge_fields(patch, Some(patch), kind)
    }

    fn merge_fields(
        &self,
        object: &Node,
        patch: Option<&Node>,
        kind: Type,
    ) -> Result<Node, PatchFailure> {
        // The directive is removed; a second one is a field. A value that is merged with itself has it on both sides.
        let bare = |node: &Node| {
            let mut bare = node.clone();
            bare.remove(DIRECTIVE);
            bare
        };
        let directed = patch.filter(|patch| patch.get(DIRECTIVE).is_some());
        let directed = directed.map(|patch| (bare(object), bare(patch)));
        let (object, patch) = match &directed {
            Some((object, patch)) => (object, Some(patch)),
            None => (object, patch),
        };
        let mut fields = Vec::with_capacity(object.fields().len());
        let patch_fields = patch.map_or(&[][..], Node::fields);
        // Of equal keys, the first is used.
        let is_first = |at: usize, field: &Field| {
            patch.and_then(|patch| patch.position(&field.key)) == Some(at)
        };
        let mut is_new: Vec<bool> = patch_fields
            .iter()
            .enumerate()
            .map(|(at, field)| is_first(at, field))
            .collect();
        for field in object.fields() {
            let at = patch.and_then(|patch| patch.position(&field.key));
            if let Some(is_new) = at.and_then(|at| is_new.get_mut(at)) {
                *is_new = false;
            }
            let in_patch = at.and_then(|at| patch_fields.get(at));
            fields.extend(self.merge_field(Some(field), in_patch, kind)?);
        }
        let new = patch_fields.iter().zip(is_new);
        let mut new: Vec<&Field> = new
            .filter_map(|(field, is_new)| is_new.then_some(field))
            .collect();
        new.sort_by(|a, b| a.key.cmp(&b.key));
        for field in new {
            fields.extend(self.merge_field(None, Some(field), kind)?);
        }
        Ok(Node {
            value: Value::Map(Arc::new(Mapping::from(fields))),
            origin: object.origin.clone(),
        })
    }

    fn merge_field(
        &self,
        object: Option<&Field>,
        patch: Option<&Field>,
        kind: Type,
    ) -> Result<Option<Field>, PatchFailure> {
        let Some(named) = object.or(patch) else {
            return Ok(None);
        };
        let merged = self.walk(
            object.map(|field| &field.value),
            patch.map(|field| &field.value),
            kind.field(&named.key),
            Some((kind, &named.key)),
        )?;
        let (owner, replaced, value) = match merged {
            Merged::Gone => return Ok(None),
            // An explicit null of the object is kept.
            Merged::Object(value) => (object, None, value),
            Merged::Patch(value) if value.is_null() => return Ok(None),
            // The key has the same origin as the value.
            Merged::Patch(value) => (patch, object, value),
        };
        let owner = owner.unwrap_or(named);
        let field = Field {
            key: named.key.clone(),
            origin: owner.origin.clone(),
            value,
            is_override: owner.is_override,
        };
        Ok(Some(match replaced {
            Some(replaced) => field.over(replaced),
            None => field,
        }))
    }

    fn walk_list(
        &self,
        object: Option<&Node>,
        patch: Option<&Node>,
        kind: Type,
        keys: &[&str],
    ) -> Result<Merged, PatchFailure> {
        let merge_item =
            |object: Option<&Node>, patch: Option<&Node>| self.walk(object, patch, kind, None);
        let Some(object) = object.filter(|object| !object.is_null()) else {
            let Some(patch) = patch else {
                return Ok(Merged::Gone);
            };
            let items = list::merge(patch.items(), patch.items(), keys, merge_item, true)?;
            return Ok(Merged::Patch(with_items(patch, items)));
        };
        if patch.is_some_and(Node::is_null) {
            return Ok(Merged::Gone);
        }
        let patch_items = patch.map_or(&[][..], Node::items);
        let directive_item = patch_items
            .iter()
            .find(|item| item.get(DIRECTIVE).is_some())
            .filter(|item| item.fields().len() == 1);
        let value = directive_item.and_then(|item| item.get(DIRECTIVE));
        let directive = Directive::of(value)?;
        // Another directive remains as an item.
        let is_other = |item: &&Node| {
            value.is_none_or(|value| item.get(DIRECTIVE).and_then(Node::text) != value.text())
        };
        let rest: Vec<Node> = patch_items.iter().filter(is_other).cloned().collect();
        match (directive, patch) {
            (Directive::Delete, _) => Ok(Merged::Gone),
            (Directive::Replace, Some(patch)) => {
                let items = list::merge(&rest, &rest, keys, merge_item, true)?;
                Ok(Merged::Patch(with_items(patch, items)))
            }
            _ => {
                let items = list::merge(object.items(), &rest, keys, merge_item, false)?;
                Ok(Merged::Object(with_items(object, items)))
            }
        }
    }
}

/// Returns a key that a mapping of a value has twice. Of equal keys of a patch, kustomize uses the first where it merges
/// the mapping with that of the object. It copies other mappings, and cannot decode the result.
fn repeated_key(value: &Node) -> Option<&str> {
    let fields = value.fields();
    let repeated = fields
        .iter()
        .enumerate()
        .find(|(at, field)| value.position(&field.key) != Some(*at));
    let values = fields.iter().map(|field| &field.value).chain(value.items());
    match repeated {
        Some((_, field)) => Some(&field.key),
        None => values
            .filter(|value| value.text().is_none())
            .find_map(repeated_key),
    }
}

fn check_same_shape(object: &Node, patch: &Node) -> Result<(), PatchFailure> {
    let description = |node: &Node| match node.value {
        Value::Leaf(_) => "a single value",
        Value::Map(_) => "a mapping",
        Value::Seq(_) => "a list",
    };
    if description(object) == description(patch) {
        return Ok(());
    }
    Err(PatchFailure::Refused(format!(
        "the patch has {} where the object has {}",
        description(patch),
        description(object)
    )))
}

fn with_items(list: &Node, items: Vec<Node>) -> Node {
    Node {
        value: Value::Seq(Arc::new(items.into())),
        origin: list.origin.clone(),
    }
}
