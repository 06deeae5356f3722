//! JSON patches (RFC 6902), as kustomize applies them.
//!
//! Source: kustomize 5.8.2 uses `gopkg.in/evanphx/json-patch.v4`, which is laxer than the RFC:
//! indices may be negative, `replace` of a missing key adds it.

use std::sync::Arc;

use super::copy::NODES;
use super::limit::Limit;
use super::merge::Misfit;
use super::node::{Leaf, Node, Origin, Value, equal};
use super::share::release;

/// How deep a patched value may be; the parser reads no more.
const DEPTH: usize = 250;

/// Applies the operations of `patch`, a list, to an object.
pub(super) fn apply(object: &mut Node, patch: &Node) -> Result<(), Misfit> {
    // Copies of copies double the size with every operation.
    let (mut size, _) = object.measure();
    for operation in patch.items() {
        let grown = Operation::read(operation)?.apply(object)?;
        size = size.saturating_add(grown);
        if size > NODES {
            return Err(Misfit::Exceeds(Limit::Values));
        }
    }
    spell_out_nulls(object);
    release(object);
    Ok(())
}

/// The way through JSON makes `key: null` of `key:`, which a later merge treats differently.
fn spell_out_nulls(node: &mut Node) {
    let is_unsaid = |leaf: &Leaf| !leaf.is_text && leaf.text.is_empty();
    node.change_leaves(&is_unsaid, &mut |node| {
        if let Value::Leaf(leaf) = &mut node.value {
            leaf.text = "null".into();
        }
    });
}

struct Operation<'p> {
    name: &'p str,
    path: Pointer,
    /// The place of the path: where a new key comes from.
    origin: &'p Origin,
    from: Option<&'p str>,
    value: Option<&'p Node>,
}

impl<'p> Operation<'p> {
    fn read(node: &'p Node) -> Result<Self, Misfit> {
        let text = |key: &str| node.get(key).and_then(Node::text);
        let missing = |key: &str| Misfit::Refused(format!("an operation has no `{key}`"));
        let path = node.get("path").ok_or_else(|| missing("path"))?;
        Ok(Self {
            name: text("op").ok_or_else(|| missing("op"))?,
            path: Pointer::read(path.text().unwrap_or_default())?,
            origin: &path.origin,
            from: text("from"),
            value: node.get("value"),
        })
    }

    /// Makes the change; returns how many nodes it brings in.
    fn apply(&self, object: &mut Node) -> Result<usize, Misfit> {
        match self.name {
            "add" => self.add(object, self.value()?),
            "replace" => self.replace(object, self.value()?),
            "remove" => self.path.take(object).map(|_| 0),
            "test" => self.test(object),
            "copy" => {
                let found = self.source()?.find(object)?.cloned();
                let mut nothing = Node::text_at("null", self.origin);
                if let Value::Leaf(leaf) = &mut nothing.value {
                    leaf.is_text = false;
                }
                self.add(object, found.unwrap_or(nothing))
            }
            "move" => {
                let value = self.source()?.take(object)?;
                self.add(object, value)
            }
            other => Err(Misfit::Refused(format!(
                "the operation `{other}` is unknown"
            ))),
        }
    }

    fn value(&self) -> Result<Node, Misfit> {
        match self.value {
            Some(value) => Ok(value.clone()),
            None => Err(Misfit::Refused(format!("`{}` has no value", self.name))),
        }
    }

    fn source(&self) -> Result<Pointer, Misfit> {
        let from = self
            .from
            .ok_or_else(|| Misfit::Refused("`from` is missing".into()))?;
        Pointer::read(from)
    }

    fn add(&self, object: &mut Node, value: Node) -> Result<usize, Misfit> {
        let growth = self.measured(&value)?;
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
        Ok(growth)
    }

    fn replace(&self, object: &mut Node, value: Node) -> Result<usize, Misfit> {
        let growth = self.measured(&value)?;
        if self.path.steps.is_empty() {
            *object = value;
            return Ok(growth);
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
        Ok(growth)
    }

    fn measured(&self, value: &Node) -> Result<usize, Misfit> {
        let (nodes, depth) = value.measure();
        if depth + self.path.steps.len() > DEPTH {
            return Err(Misfit::Exceeds(Limit::Values));
        }
        Ok(nodes)
    }

    fn test(&self, object: &Node) -> Result<usize, Misfit> {
        let found = self.path.find(object)?.filter(|node| !node.is_null());
        let wanted = self.value.filter(|node| !node.is_null());
        let holds = match (found, wanted) {
            (Some(found), Some(wanted)) => equal(found, wanted),
            (found, wanted) => found.is_none() && wanted.is_none(),
        };
        if holds {
            return Ok(0);
        }
        Err(Misfit::Refused(format!(
            "the test of `{}` fails",
            self.path.text
        )))
    }
}

/// A JSON pointer (RFC 6901).
struct Pointer {
    text: String,
    steps: Vec<String>,
}

impl Pointer {
    fn read(text: &str) -> Result<Self, Misfit> {
        let mut parts = text.split('/');
        if parts.next() != Some("") {
            return Err(Misfit::Refused(format!("`{text}` does not start with `/`")));
        }
        let decoded = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
        Ok(Self {
            text: text.to_owned(),
            steps: decoded.collect(),
        })
    }

    fn missing(&self) -> Misfit {
        Misfit::Refused(format!("there is no `{}`", self.text))
    }

    /// Returns the addressed value; a missing key of a mapping is no error.
    fn find<'n>(&self, object: &'n Node) -> Result<Option<&'n Node>, Misfit> {
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

    /// Returns the value around the addressed one, and the last step.
    fn parent<'n>(&self, object: &'n mut Node) -> Result<(&'n mut Node, &str), Misfit> {
        let Some((last, front)) = self.steps.split_last() else {
            return Err(Misfit::Refused(
                "the whole object cannot be changed so".to_owned(),
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

    fn take(&self, object: &mut Node) -> Result<Node, Misfit> {
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

/// Reads an index of a list with `length` places; negative ones count from its end.
fn index(step: &str, length: usize) -> Result<usize, Misfit> {
    let wrong = || Misfit::Refused(format!("`{step}` is not an index of the list"));
    let number: i64 = step.parse().map_err(|_| wrong())?;
    let at = if number < 0 {
        let back = usize::try_from(number.unsigned_abs()).map_err(|_| wrong())?;
        length.checked_sub(back)
    } else {
        usize::try_from(number).ok()
    };
    at.filter(|&at| at < length).ok_or_else(wrong)
}
