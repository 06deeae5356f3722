//! Changes that a Flux Kustomization makes to objects after the build: `postBuild.substitute`, then
//! `commonMetadata`.
//!
//! Source: Flux, `kustomize.toolkit.fluxcd.io/v1`. Only variables with a known value are filled
//! in. If `substituteFrom` may define further variables, these remain unknown, even if they have defaults.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::yaml::{NodeRef, Scalar, resolve_plain};

use crate::kustomize::accumulator::Accumulator;
use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::leaf::{Leaf, Origin};
use crate::kustomize::node::{Node, Value};
use crate::kustomize::resource::Resource;

/// Label or annotation that disables substitution in an object.
const SWITCH: &str = "kustomize.toolkit.fluxcd.io/substitute";
/// Maximum length of a value with variables; longer values are documents, not settings.
const LONGEST: usize = 10_000;

/// Applies `postBuild` and `commonMetadata` to all objects.
pub(crate) fn apply(flux: &Kustomization<'_>, accumulator: &mut Accumulator) {
    if let Some(post) = flux.entry("postBuild") {
        let variables = Variables::read(flux, post.value);
        // Flux substitutes nothing without variables.
        if !variables.known.is_empty() {
            for resource in &mut accumulator.resources {
                substitute(resource, &variables);
            }
        }
    }
    let Some(common) = flux
        .entry("commonMetadata")
        .and_then(|entry| flux.copy(entry.value))
    else {
        return;
    };
    for resource in &mut accumulator.resources {
        for kind in ["labels", "annotations"] {
            let fields = common.get(kind).map(Node::fields).unwrap_or_default();
            for field in fields {
                let text = field.value.text().unwrap_or_default();
                let value = Node::text_at(text, &field.value.origin);
                resource.set_below_metadata(kind, &field.key, &field.origin, value);
            }
        }
    }
}

struct Variables {
    known: HashMap<String, (String, Origin)>,
    /// Whether there are further variables with unknown values.
    is_open: bool,
}

impl Variables {
    fn read(flux: &Kustomization<'_>, post: NodeRef<'_>) -> Self {
        let mut known = HashMap::new();
        let entries = post
            .get("substitute")
            .into_iter()
            .flat_map(NodeRef::entries);
        for entry in entries {
            if let (Some(name), Some(value)) = (entry.key.text(), entry.value.text()) {
                let origin = flux.origin(entry.value.span());
                known.insert(name.to_owned(), (value.to_owned(), origin));
            }
        }
        let others = post.get("substituteFrom");
        let is_open = others.is_some_and(|list| list.items().len() > 0);
        Self { known, is_open }
    }

    /// Returns the value of the text between `${` and `}`, with its origin.
    fn value<'v>(&'v self, inside: &'v str) -> Option<(&'v str, Option<&'v Origin>)> {
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = inside.split_at_checked(end.unwrap_or(inside.len()))?;
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let default = rest.strip_prefix(":=").or_else(|| rest.strip_prefix(":-"));
        // Other operations of envsubst are not supported.
        if !rest.is_empty() && default.is_none() {
            return None;
        }
        match (self.known.get(name), default) {
            // An empty value selects the default.
            (Some((value, origin)), default) if !value.is_empty() || default.is_none() => {
                Some((value, Some(origin)))
            }
            (Some(_), Some(default)) => Some((default, None)),
            (None, Some(default)) if !self.is_open => Some((default, None)),
            _ => None,
        }
    }

    /// Fills in the variables with known values. Returns `None` if nothing changes, or if the result is too long or has
    /// several lines.
    fn fill<'v>(&'v self, text: &'v str) -> Option<(String, Option<&'v Origin>)> {
        let mut out = String::new();
        let mut rest = text;
        let mut last_origin = None;
        let mut is_changed = false;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let end = after.find('}');
            let inside = end.and_then(|end| after.get(..end));
            let value = inside.filter(|_| !before.ends_with('$'));
            match value.and_then(|inside| self.value(inside)) {
                Some((value, origin)) => {
                    out.push_str(value);
                    last_origin = origin.or(last_origin);
                    is_changed = true;
                    rest = end.and_then(|end| after.get(end + 1..)).unwrap_or_default();
                }
                None => {
                    out.push_str("${");
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        (is_changed && out.len() <= LONGEST && !out.contains('\n')).then_some((out, last_origin))
    }
}

fn substitute(resource: &mut Resource, variables: &Variables) {
    let is_off = ["labels", "annotations"].iter().any(|kind| {
        let switch = resource.metadata(kind).and_then(|all| all.get(SWITCH));
        switch.and_then(Node::text) == Some("disabled")
    });
    let mentions = |leaf: &Leaf| leaf.is_text && leaf.text.contains("${");
    if !is_off && resource.body.may_mention("${") && resource.body.read().any_leaf(&mentions) {
        let object = resource.change();
        object.change_leaves(&mentions, &mut |node| fill(node, variables));
    }
}

/// Fills in the variables of a scalar. Flux substitutes in the text of the build, which no longer has quotes: a
/// result that looks like a number becomes a number.
fn fill(node: &mut Node, variables: &Variables) {
    let Value::Leaf(leaf) = &mut node.value else {
        return;
    };
    let before = Arc::clone(&leaf.text);
    let Some((text, origin)) = variables.fill(&before) else {
        return;
    };
    let quoted = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    leaf.is_text = quoted.is_some() || matches!(resolve_plain(&text), Scalar::Str(_));
    leaf.text = quoted.unwrap_or(&text).into();
    if let Some(origin) = origin {
        node.origin = origin.clone();
    }
}
