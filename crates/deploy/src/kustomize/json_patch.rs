//! JSON patches (RFC 6902), as kustomize applies them.
//!
//! Source: kustomize 5.8.2 uses `gopkg.in/evanphx/json-patch.v4`, which is less strict than the RFC:
//! indices may be negative, and `replace` of a missing key adds it.

use std::sync::Arc;

use meshprobe_tree::source::limits::OBJECT_VALUES;
use serde::de::IgnoredAny;

use crate::kustomize::limit::Limit;
use crate::kustomize::merged::PatchFailure;
use crate::kustomize::node::{Leaf, Node, Origin, Value, equal};
use crate::kustomize::share::release;

/// Maximum depth of a patched value, which is also the maximum of the parser.
const DEPTH: usize = 250;

/// Applies the operations of `patch`, a list, to an object.
pub(crate) fn apply(object: &mut Node, patch: &Node) -> Result<(), PatchFailure> {
    // An operation that copies can double the size.
    let (mut size, _) = object.measure();
    for operation in patch.items() {
        let added = Operation::read(operation)?.apply(object)?;
        size = size.saturating_add(added);
        if size > OBJECT_VALUES {
            return Err(PatchFailure::Exceeds(Limit::Values));
        }
    }
    write_empty_as_null(object);
    release(object);
    Ok(())
}

/// Returns why kustomize does not parse the text of a JSON patch: text that starts with `[` must be JSON, and other
/// text may be YAML.
///
/// Source: kustomize 5.8.2, `jsonPatchFromBytes` in `api/internal/builtins/PatchTransformer.go`, and
/// `PatchJson6902Transformer.go`.
pub(crate) fn text_fault(text: &str) -> Option<&'static str> {
    let is_json = || serde_json::from_str::<IgnoredAny>(text).is_ok();
    (text.starts_with('[') && !is_json())
        .then_some("text that starts with `[` must be JSON, with keys and values in quotes")
}

/// Replaces `key:` with `key: null`, as kustomize's conversion to JSON does. A later merge distinguishes the two.
fn write_empty_as_null(node: &mut Node) {
    let is_empty_null = |leaf: &Leaf| !leaf.is_text && leaf.text.is_empty();
    node.change_leaves(&is_empty_null, &mut |node| {
        if let Value::Leaf(leaf) = &mut node.value {
            leaf.text = "null".into();
        }
    });
}

struct Operation<'p> {
    name: &'p str,
    path: Pointer,
    /// The location of the path, which is the origin of a new key.
    origin: &'p Origin,
    from: Option<&'p str>,
    value: Option<&'p Node>,
}

impl<'p> Operation<'p> {
    fn read(node: &'p Node) -> Result<Self, PatchFailure> {
        let text = |key: &str| node.get(key).and_then(Node::text);
        let missing = |key: &str| PatchFailure::Refused(format!("an operation has no `{key}`"));
        let path = node.get("path").ok_or_else(|| missing("path"))?;
        Ok(Self {
            name: text("op").ok_or_else(|| missing("op"))?,
            path: Pointer::read(path.text().unwrap_or_default())?,
            origin: &path.origin,
            from: text("from"),
            value: node.get("value"),
        })
    }

    /// Applies the operation. Returns the number of nodes that it adds.
    fn apply(&self, object: &mut Node) -> Result<usize, PatchFailure> {
        match self.name {
            "add" => self.add(object, self.value()?),
            "replace" => self.replace(object, self.value()?),
            "remove" => self.path.take(object).map(|_| 0),
            "test" => self.test(object),
            "copy" => {
                let found = self.source()?.find(object)?.cloned();
                let mut null = Node::text_at("null", self.origin);
                if let Value::Leaf(leaf) = &mut null.value {
                    leaf.is_text = false;
                }
                self.add(object, found.unwrap_or(null))
            }
            "move" => {
                let value = self.source()?.take(object)?;
                self.add(object, value)
            }
            other => Err(PatchFailure::Refused(format!(
                "the operation `{other}` is unknown"
            ))),
        }
    }

    fn value(&self) -> Result<Node, PatchFailure> {
        match self.value {
            Some(value) => Ok(value.clone()),
            None => Err(PatchFailure::Refused(format!(
                "`{}` has no value",
                self.name
            ))),
        }
    }

    fn source(&self) -> Result<Pointer, PatchFailure> {
        let from = self
            .from
            .ok_or_else(|| PatchFailure::Refused("`from` is missing".into()))?;
        Pointer::read(from)
    }

    fn add(&self, object: &mut Node, value: Node) -> Result<usize, PatchFailure> {
        let added = self.measured(&value)?;
        let (parent, last) = self.path.parent(object)?;
        match &mut parent.value {
            Value::Map(_) => parent.set(last, self.origin, value),
            Value::Seq(items) => {
                let at = if last == "-" {
                    items.len()
                } else {
                    index(last, items.len() + 1)?
                };
                Arc::make_mut(items).insert(at, value);
            }
            Value::Leaf(_) => return Err(self.path.missing()),
        }
        Ok(added)
    }

    fn replace(&self, object: &mut Node, value: Node) -> Result<usize, PatchFailure> {
        let added = self.measured(&value)?;
        if self.path.steps.is_empty() {
            *object = value;
            return Ok(added);
        }
        let (parent, last) = self.path.parent(object)?;
        match &mut parent.value {
            Value::Map(_) => parent.set(last, self.origin, value),
            Value::Seq(items) => {
                let at = index(last, items.len())?;
                if let Some(slot) = Arc::make_mut(items).get_mut(at) {
                    *slot = value;
                }
            }
            Value::Leaf(_) => return Err(self.path.missing()),
        }
        Ok(added)
    }

    /// Returns the number of nodes of a new value.
    ///
    /// # Errors
    /// The value would be nested too deeply in the object.
    fn measured(&self, value: &Node) -> Result<usize, PatchFailure> {
        let (nodes, depth) = value.measure();
        if depth + self.path.steps.len() > DEPTH {
            return Err(PatchFailure::Exceeds(Limit::Values));
        }
        Ok(nodes)
    }

    fn test(&self, object: &Node) -> Result<usize, PatchFailure> {
        let found = self.path.find(object)?.filter(|node| !node.is_null());
        let wanted = self.value.filter(|node| !node.is_null());
        let holds = match (found, wanted) {
            (Some(found), Some(wanted)) => equal(found, wanted),
            (found, wanted) => found.is_none() && wanted.is_none(),
        };
        if holds {
            return Ok(0);
        }
        Err(PatchFailure::Refused(format!(
            "the test of `{}` fails",
            self.path.text
        )))
    }
}

/// JSON pointer (RFC 6901).
struct Pointer {
    text: String,
    steps: Vec<String>,
}

impl Pointer {
    fn read(text: &str) -> Result<Self, PatchFailure> {
        let mut parts = text.split('/');
        if parts.next() != Some("") {
            return Err(PatchFailure::Refused(format!(
                "`{text}` does not start with `/`"
            )));
        }
        let decoded = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
        Ok(Self {
            text: text.to_owned(),
            steps: decoded.collect(),
        })
    }

    fn missing(&self) -> PatchFailure {
        PatchFailure::Refused(format!("`{}` does not exist", self.text))
    }

    /// Returns the addressed value, or `None` if the mapping does not have the last key.
    fn find<'n>(&self, object: &'n Node) -> Result<Option<&'n Node>, PatchFailure> {
        let step = |node: &'n Node, step: &String| match &node.value {
            Value::Map(_) => node.get(step),
            Value::Seq(items) => items.get(index(step, items.len()).ok()?),
            Value::Leaf(_) => None,
        };
        let Some((last, front)) = self.steps.split_last() else {
            return Ok(Some(object));
        };
        let parent = front.iter().try_fold(object, step);
        let parent = parent.ok_or_else(|| self.missing())?;
        match (step(parent, last), &parent.value) {
            (None, Value::Seq(_) | Value::Leaf(_)) => Err(self.missing()),
            (found, _) => Ok(found),
        }
    }

    /// Returns the parent of the addressed value, and the last step.
    fn parent<'n>(&self, object: &'n mut Node) -> Result<(&'n mut Node, &str), PatchFailure> {
        let Some((last, front)) = self.steps.split_last() else {
            return Err(PatchFailure::Refused(
                "this operation cannot change the whole object".to_owned(),
            ));
        };
        let mut node = object;
        for step in front {
            let next = if matches!(node.value, Value::Seq(_)) {
                node.item_mut(index(step, node.items().len())?)
            } else {
                node.get_mut(step)
            };
            node = next.ok_or_else(|| self.missing())?;
        }
        Ok((node, last))
    }

    fn take(&self, object: &mut Node) -> Result<Node, PatchFailure> {
        let (parent, last) = self.parent(object)?;
        match &mut parent.value {
            Value::Map(fields) => {
                let at = fields.position(last);
                let taken = at.and_then(|at| Arc::make_mut(fields).remove(at));
                taken.ok_or_else(|| self.missing())
            }
            Value::Seq(items) => {
                let at = index(last, items.len())?;
                Ok(Arc::make_mut(items).remove(at))
            }
            Value::Leaf(_) => Err(self.missing()),
        }
    }
}

/// Parses an index of a list with `length` positions; negative ones count from the end.
fn index(step: &str, length: usize) -> Result<usize, PatchFailure> {
    let wrong = || PatchFailure::Refused(format!("`{step}` is not an index of the list"));
    let number: i64 = step.parse().map_err(|_| wrong())?;
    let at = if number < 0 {
        let back = usize::try_from(number.unsigned_abs()).map_err(|_| wrong())?;
        length.checked_sub(back)
    } else {
        usize::try_from(number).ok()
    };
    at.filter(|&at| at < length).ok_or_else(wrong)
}
