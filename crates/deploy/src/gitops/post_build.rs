//! Changes that a Flux Kustomization makes to objects after the build: `postBuild.substitute`, then
//! `commonMetadata`.
//!
//! Source: Flux, `kustomize.toolkit.fluxcd.io/v1`, and `loadVars` in `kustomize/kustomize_varsub.go` of fluxcd/pkg: later
//! entries of `substituteFrom` override earlier ones, and `substitute` overrides all of them. Only variables with a known
//! value are filled in. If `substituteFrom` may define further variables, these remain unknown, even if they have defaults.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::{NodeRef, plain_is_string};

use crate::gitops::configs::{self, ConfigReference};
use crate::gitops::deployment::Deployment;
use crate::kustomize::accumulator::Accumulator;
use crate::kustomize::kustomization::{Dialect, Kustomization};
use crate::kustomize::node::{Leaf, Node, Origin, Value};
use crate::kustomize::resource::Resource;

/// Label or annotation that disables substitution in an object.
const SWITCH: &str = "kustomize.toolkit.fluxcd.io/substitute";
/// Maximum length of a value with variables; longer values are documents, not settings.
const LONGEST: usize = 10_000;

/// Applies `postBuild` and `commonMetadata` to all objects.
pub(crate) fn apply(
    flux: &Kustomization<'_>,
    variables: &Variables,
    accumulator: &mut Accumulator,
) {
    // Flux substitutes nothing without variables.
    if !variables.known.is_empty() {
        for resource in &mut accumulator.resources {
            substitute(resource, variables);
        }
    }
    let Some(common) = flux
        .entry("commonMetadata")
        .and_then(|entry| flux.copy(entry.value))
    else {
        return;
    };
    let (values, _) = common.measure();
    let objects = accumulator.resources.len();
    if !accumulator.count_values(values.saturating_mul(objects)) {
        return;
    }
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

/// The variables of a Flux Kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Variables {
    /// The variables by name; `None` for a value that is not known.
    known: BTreeMap<String, Option<(String, Origin)>>,
    /// Why there are further variables with unknown values, or why a value is not known: where Flux takes it from.
    pub(crate) unread: Option<Arc<str>>,
    /// Whether there may be further variables.
    is_open: bool,
}

impl Variables {
    /// Reads the variables of a deployment. `find` returns the ConfigMap or Secret that a Kustomization refers to.
    pub(crate) fn read<'a, 't: 'a>(
        sources: &SourceSet,
        deployment: &Deployment<'_>,
        find: impl Fn(ConfigReference<'_>) -> Result<Option<&'a Object<'t>>, String>,
    ) -> Self {
        let mut variables = Self::default();
        let post = deployment
            .edit
            .filter(|_| deployment.dialect == Dialect::Flux);
        let Some(post) = post.and_then(|edit| edit.get("postBuild")) else {
            return variables;
        };
        let object = &deployment.object;
        let references = post.get("substituteFrom").into_iter();
        for reference in references.flat_map(NodeRef::items) {
            let text = |key: &str| {
                reference
                    .get(key)
                    .and_then(NodeRef::text)
                    .unwrap_or_default()
            };
            let wanted = ConfigReference {
                kind: text("kind"),
                name: text("name"),
                namespace: object.deployed_namespace(),
            };
            let found = find(wanted);
            let is_read = matches!(found, Ok(Some(_)));
            let why = match found {
                Ok(Some(config)) => {
                    let is_incomplete = variables.add(config);
                    is_incomplete.then(|| " is encrypted or not in the tree".to_owned())
                }
                // Flux continues without an optional one.
                Ok(None) if text("optional") == "true" => None,
                Ok(None) => Some(" is not in the tree".to_owned()),
                Err(why) => Some(format!(": {why}")),
            };
            let Some(why) = why else {
                continue;
            };
            let label = object.label_at(reference.span(), "");
            let file = sources.file(&label.path);
            let line = file.map_or(1, |file| file.line_of(label.span));
            let source = format!(
                "{} `{}` ({}:{line}){why}",
                wanted.kind, wanted.name, label.path
            );
            variables.unread.get_or_insert(source.into());
            if !is_read {
                variables.is_open = true;
                // A later source overrides earlier ones.
                variables.known.values_mut().for_each(|value| *value = None);
            }
        }
        let inline = post
            .get("substitute")
            .into_iter()
            .flat_map(NodeRef::entries);
        for entry in inline {
            if let (Some(name), Some(value)) = (entry.key.text(), entry.value.text()) {
                let label = object.label_at(entry.value.span(), "");
                variables.insert(name, Some(value.to_owned()), label);
            }
        }
        variables
    }

    /// Adds the entries of a ConfigMap or Secret. Returns whether a value is not known.
    fn add(&mut self, config: &Object<'_>) -> bool {
        let mut is_incomplete = false;
        for (entry, value) in configs::entries(config) {
            is_incomplete |= value.is_none();
            let label = config.label_at(entry.value.span(), "");
            self.insert(entry.key.text().unwrap_or_default(), value, label);
        }
        is_incomplete
    }

    fn insert(&mut self, name: &str, value: Option<String>, place: Label) {
        let origin = Origin {
            path: place.path,
            span: place.span,
        };
        // Flux removes line breaks (`kustomize_varsub.go`).
        let value = value.map(|value| (value.replace('\n', ""), origin));
        self.known.insert(name.to_owned(), value);
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
            (Some(None), _) => None,
            // An empty value selects the default.
            (Some(Some((value, origin))), default) if !value.is_empty() || default.is_none() => {
                Some((value, Some(origin)))
            }
            (Some(_), Some(default)) => Some((default, None)),
            (None, Some(default)) if !self.is_open => Some((default, None)),
            _ => None,
        }
    }

    /// Fills in the variables with known values, and returns the place of the longest one. Returns `None` if nothing changes,
    /// or if the result is too long.
    fn fill<'v>(&'v self, text: &'v str) -> Option<(String, Option<&'v Origin>)> {
        let mut out = String::new();
        let mut rest = text;
        let mut longest: Option<(usize, &Origin)> = None;
        let mut is_changed = false;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let Some(end) = after.find('}') else {
                out.push_str("${");
                rest = after;
                break;
            };
            let value = after.get(..end).filter(|_| !before.ends_with('$'));
            match value.and_then(|inside| self.value(inside)) {
                Some((value, origin)) => {
                    out.push_str(value);
                    // Quotes may be the value of a variable, too.
                    if let Some(origin) = origin
                        && longest.is_none_or(|(length, _)| length < value.len())
                    {
                        longest = Some((value.len(), origin));
                    }
                    is_changed = true;
                    rest = after.get(end + 1..).unwrap_or_default();
                }
                None => {
                    out.push_str("${");
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        let origin = longest.map(|(_, origin)| origin);
        (is_changed && out.len() <= LONGEST).then_some((out, origin))
    }
}

fn substitute(resource: &mut Resource, variables: &Variables) {
    let is_off = ["labels", "annotations"].iter().any(|kind| {
        let switch = resource.metadata(kind).and_then(|all| all.get(SWITCH));
        switch.and_then(Node::text) == Some("disabled")
    });
    let mentions = |leaf: &Leaf| leaf.is_text && leaf.text.contains("${");
    if !is_off && resource.body.may_mention("${") && resource.body.any_leaf(&mentions) {
        let object = resource.change();
        object.change_leaves(&mentions, &mut |node| fill(node, variables));
    }
}

/// Fills in the variables of a scalar. Flux substitutes in the text of the build, which has quotes only where the text with
/// the variable needs them: a result that looks like a number becomes a number, and quotes in the values are those of YAML.
///
/// Source: fluxcd/pkg, `SubstituteVariables` in `kustomize/kustomize_varsub.go`.
fn fill(node: &mut Node, variables: &Variables) {
    let Value::Leaf(leaf) = &mut node.value else {
        return;
    };
    let before = Arc::clone(&leaf.text);
    let Some((text, origin)) = variables.fill(&before) else {
        return;
    };
    let is_plain = is_printed_plain(&before);
    let quoted = ['"', '\'']
        .into_iter()
        .filter(|_| is_plain)
        .find_map(|quote| Some((quote, text.strip_prefix(quote)?.strip_suffix(quote)?)));
    leaf.is_text = !is_plain || quoted.is_some() || plain_is_string(&text);
    leaf.text = match quoted {
        Some(('\'', inside)) => inside.replace("''", "'").into(),
        Some((_, inside)) => inside.into(),
        None => text.into(),
    };
    if let Some(origin) = origin {
        node.origin = origin.clone();
    }
}

/// Returns whether a text with a variable is printed without quotes.
fn is_printed_plain(text: &str) -> bool {
    let starts_plain = |c: char| c.is_alphanumeric() || matches!(c, '$' | '/' | '_' | '.' | '(');
    let has_syntax = ["\n", ": ", " #"].iter().any(|part| text.contains(part));
    text.starts_with(starts_plain) && !has_syntax && !text.ends_with([':', ' '])
}
