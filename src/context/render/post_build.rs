//! What a Flux Kustomization does to objects once they are built: `postBuild.substitute`, then
//! `commonMetadata`.
//!
//! Source: Flux, `kustomize.toolkit.fluxcd.io/v1`. Only variables with a known value are filled
//! in. Where `substituteFrom` may define others, these stay unknown, defaults too.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::yaml::{NodeRef, Scalar, resolve_plain};

use super::gather::Gathered;
use super::kustomization::Kustomization;
use super::node::{Leaf, Node, Origin, Value};
use super::resource::Resource;

/// A label or annotation that keeps variables of an object from being filled in.
const SWITCH: &str = "kustomize.toolkit.fluxcd.io/substitute";
/// A value longer than this is no setting but a document.
const LONGEST: usize = 10_000;

/// Changes all objects.
pub(super) fn apply(flux: &Kustomization<'_>, gathered: &mut Gathered) {
    if let Some(post) = flux.entry("postBuild") {
        let variables = Variables::read(flux, post.value);
        // Without any variable nothing is filled in.
        if !variables.known.is_empty() {
            for resource in &mut gathered.resources {
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
    for resource in &mut gathered.resources {
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
    /// There are others, which nobody knows.
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
                let place = flux.origin(entry.value.span());
                known.insert(name.to_owned(), (value.to_owned(), place));
            }
        }
        let others = post.get("substituteFrom");
        let is_open = others.is_some_and(|list| list.items().len() > 0);
        Self { known, is_open }
    }

    /// Returns the value of what stands between `${` and `}`.
    fn value<'v>(&'v self, inside: &'v str) -> Option<(&'v str, Option<&'v Origin>)> {
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = inside.split_at_checked(end.unwrap_or(inside.len()))?;
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let default = rest.strip_prefix(":=").or_else(|| rest.strip_prefix(":-"));
        // Other operations of envsubst are not followed.
        if !rest.is_empty() && default.is_none() {
            return None;
        }
        match (self.known.get(name), default) {
            // Without value the default counts.
            (Some((value, place)), default) if !value.is_empty() || default.is_none() => {
                Some((value, Some(place)))
            }
            (Some(_), Some(default)) => Some((default, None)),
            (None, Some(default)) if !self.is_open => Some((default, None)),
            _ => None,
        }
    }

    /// Fills in what is known; `None` where that changes nothing.
    fn fill<'v>(&'v self, text: &'v str) -> Option<(String, Option<&'v Origin>)> {
        let mut out = String::new();
        let mut rest = text;
        let mut place = None;
        let mut is_changed = false;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let end = after.find('}');
            let inside = end.and_then(|end| after.get(..end));
            let value = inside.filter(|_| !before.ends_with('$'));
            match value.and_then(|inside| self.value(inside)) {
                Some((value, origin)) => {
                    out.push_str(value);
                    place = origin.or(place);
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
        (is_changed && out.len() <= LONGEST && !out.contains('\n')).then_some((out, place))
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

/// Variables stand in the text of the build, where no quotes are left: what looks like a number
/// afterwards is one.
fn fill(node: &mut Node, variables: &Variables) {
    let Value::Leaf(leaf) = &mut node.value else {
        return;
    };
    let before = Arc::clone(&leaf.text);
    let Some((text, place)) = variables.fill(&before) else {
        return;
    };
    let quoted = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    leaf.is_text = quoted.is_some() || matches!(resolve_plain(&text), Scalar::Str(_));
    leaf.text = quoted.unwrap_or(&text).into();
    if let Some(place) = place {
        node.origin = place.clone();
    }
}
