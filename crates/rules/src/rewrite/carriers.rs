//! The carriers of a prober env, and the changes that remove them.

use meshprobe_mesh::finding::{Certainty, GuardId};
use meshprobe_mesh::kube::{Container, ContainerList, EnvVar, Object, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::proxy_config::ProxyConfig;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_predict::context::proxy_config;
use meshprobe_yaml::{
    Change, Entry, FieldPath, NodeRef, Span, Style, Tree, Value, apply_embedded, splice,
};

use crate::rewrite::plan::{GuardFailure, refuse};

/// A place that contains a prober env.
pub(super) enum Carrier<'t> {
    /// `proxyMetadata` in the annotation: the form `annotation`.
    Annotation(Entry<'t>, ProxyConfig),
    /// The env of an `istio-proxy` container: a partial container that a rewrite added, one of the user, or an injected
    /// sidecar.
    Variable(Container<'t>, EnvVar<'t>),
}

impl<'t> Carrier<'t> {
    /// Returns all carriers of a pod; at most one of them reaches the sidecar.
    pub(super) fn all_of(workload: &Workload<'t>) -> Vec<Self> {
        let template = &workload.template;
        let mut all = Vec::new();
        for container in template.containers() {
            if container.name() != keys::PROXY_CONTAINER {
                continue;
            }
            let variables = variables(&container);
            all.extend(
                variables
                    .into_iter()
                    .map(|variable| Self::Variable(container.clone(), variable)),
            );
        }
        let config = proxy_config(workload).filter(|config| config.probers().is_some());
        let entry = template.annotation(keys::PROXY_CONFIG);
        all.extend(
            entry
                .zip(config)
                .map(|(entry, config)| Self::Annotation(entry, config)),
        );
        all
    }

    pub(super) fn span(&self) -> Span {
        match self {
            Self::Annotation(entry, _) => entry.key.span(),
            Self::Variable(_, variable) => variable.node.span(),
        }
    }

    /// Returns the changes that remove the carrier and the opt-out that was written with it, and remarks about values that
    /// are not restored literally. `by_default` states whether the mesh rewrites probes by default.
    pub(super) fn removed(
        &self,
        workload: &Workload<'t>,
        by_default: &Fact<bool>,
    ) -> Result<(Vec<Change>, Vec<String>), GuardFailure> {
        let mut leaving = AnnotationRemoval::new(workload);
        leaving.opt_out(by_default);
        match self {
            Self::Annotation(entry, config) => {
                let left = left_text(config).map_err(|reason| {
                    let message = format!("cannot change `{}`: {reason}", keys::PROXY_CONFIG);
                    refuse(GuardId::PROXY_CONFIG_INVALID, entry.key.span(), message)
                })?;
                let key = keys::PROXY_CONFIG;
                match left {
                    Some(text) if is_one_line(entry) && !text.trim_end().contains('\n') => {
                        leaving.set(key, Value::from(text.trim_end()));
                        let remark =
                            "is written on one line again; its quotes may have been different";
                        leaving.remarks.push(format!("`{key}` {remark}"));
                    }
                    Some(text) => leaving.set(key, styled(text, entry.value.style())),
                    None if is_one_line(entry) => {
                        leaving.set(key, Value::from("{}"));
                        let remark = "is kept as `{}`: it existed before, without content";
                        leaving.remarks.push(format!("`{key}` {remark}"));
                    }
                    None => leaving.take(key, ""),
                }
            }
            Self::Variable(container, variable) => {
                let route = removed_route(container, variable);
                leaving.changes.push(Change::Remove { route });
            }
        }
        let remarks = std::mem::take(&mut leaving.remarks);
        Ok((leaving.changes(), remarks))
    }
}

/// Returns whether the annotation was a text of one line before the rewrite: then its block has no line break at the end.
/// A new annotation ends with a line break, and an existing block keeps its own.
fn is_one_line(entry: &Entry<'_>) -> bool {
    let is_block = matches!(entry.value.style(), Style::Literal | Style::Folded);
    let text = entry.value.text().unwrap_or_default();
    is_block && !text.ends_with('\n')
}

fn variables<'t>(container: &Container<'t>) -> Vec<EnvVar<'t>> {
    let items = container
        .node
        .get("env")
        .into_iter()
        .flat_map(NodeRef::items);
    let env = container.route.child("env");
    items
        .enumerate()
        .filter(|(_, item)| item.get("name").and_then(NodeRef::text) == Some(keys::PROBERS_ENV))
        .map(|(index, node)| EnvVar {
            node,
            route: env.child(index),
        })
        .collect()
}

/// Returns the route of the whole container if a rewrite added it; else that of `env` if it would be empty without the
/// variable; else that of the variable.
fn removed_route(container: &Container<'_>, variable: &EnvVar<'_>) -> FieldPath {
    let env = container.node.get("env");
    let is_alone = env.is_some_and(|env| env.items().len() == 1);
    let is_bare = container.node.entries().len() == 3;
    let is_ours = is_alone && is_bare && container.image() == Some("auto");
    if is_ours && container.list == ContainerList::Main {
        return container.route.clone();
    }
    if is_alone {
        return container.route.child("env");
    }
    variable.route.clone()
}

/// Returns the annotation's text without the env; `None` if nothing remains.
fn left_text(config: &ProxyConfig) -> Result<Option<String>, String> {
    let Some(tree) = config.tree() else {
        return Ok(None);
    };
    let metadata = FieldPath::root().child(config.metadata_key().to_owned());
    let size = |route: &FieldPath| {
        let node = tree.root().and_then(|root| root.at(route));
        node.map_or(0, |node| node.entries().len())
    };
    let route = match (size(&FieldPath::root()), size(&metadata)) {
        (1, 1) => return Ok(comments(tree)),
        (_, 1) => metadata,
        _ => metadata.child(keys::PROBERS_ENV),
    };
    let edits = apply_embedded(tree, &[Change::Remove { route }]).map_err(|error| error.reason)?;
    Ok(Some(splice(tree.text(), &edits)))
}

/// Returns the comments before the first entry, if there are any.
fn comments(tree: &Tree) -> Option<String> {
    let root = tree.root()?;
    let above = tree.text().get(..root.span().start)?;
    above.contains('#').then(|| above.to_owned())
}

/// Returns a block for a text of several lines, and otherwise a value in the present style.
fn styled(text: String, style: Style) -> Value {
    let is_block = matches!(style, Style::Literal | Style::Folded);
    if is_block || text.contains('\n') {
        Value::Block(text)
    } else {
        Value::Str(text)
    }
}

/// Counts the prober envs of a pod.
pub(super) fn carriers(workload: &Workload<'_>) -> usize {
    Carrier::all_of(workload).len()
}

/// Returns whether a comment is between the key and the value, after the value on its line, or, for a mapping, below it
/// and deeper than the key.
pub(super) fn has_comment(object: &Object<'_>, entry: &Entry<'_>) -> bool {
    let Some(text) = object.document.tree().map(Tree::text) else {
        return false;
    };
    let (key, value) = (entry.key.span(), entry.value.span());
    let between = text.get(key.end..value.start).unwrap_or_default();
    let header = header(entry.value);
    let behind = text.get(value.end..).unwrap_or_default();
    let mut below = behind.lines();
    let same_line = if header.is_some() { None } else { below.next() };
    let before = text.get(..key.start).unwrap_or_default();
    let column = before.len() - before.rfind('\n').map_or(0, |position| position + 1);
    let is_mapping = entry.value.is_mapping();
    let deeper = below
        .take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
        .filter(|line| is_mapping && line.len() - line.trim_start().len() > column)
        .any(|line| line.contains('#'));
    // In brackets, other entries may follow, and then the comment belongs to them.
    let at_end = same_line.is_some_and(|rest| {
        let rest = rest.trim_start_matches([' ', '\t', ',']);
        rest.starts_with('#')
    });
    let above = [Some(between), header];
    deeper || at_end || above.into_iter().flatten().any(|part| part.contains('#'))
}

/// Returns the first line of a block scalar.
fn header(value: NodeRef<'_>) -> Option<&str> {
    let is_block = matches!(value.style(), Style::Literal | Style::Folded);
    value.source().lines().next().filter(|_| is_block)
}

/// The pending changes to the annotations of a pod.
pub(super) struct AnnotationRemoval<'w, 't> {
    workload: &'w Workload<'t>,
    removed: Vec<&'static str>,
    /// The changes that are already decided.
    pub(super) changes: Vec<Change>,
    /// The values that are not restored literally.
    pub(super) remarks: Vec<String>,
}

impl<'w, 't> AnnotationRemoval<'w, 't> {
    pub(super) const fn new(workload: &'w Workload<'t>) -> Self {
        Self {
            workload,
            removed: Vec::new(),
            changes: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Removes the opt-out that was written with a prober env, or sets the value that it may have had before. An
    /// annotation that existed before the rewrite did not switch the rewrite off. In a mesh that does not rewrite by
    /// default, it existed and switched the rewrite on, or the mesh was different then: the pod works with "true" in
    /// both cases.
    pub(super) fn opt_out(&mut self, by_default: &Fact<bool>) {
        let entry = self.workload.template.annotation(keys::REWRITE_PROBERS);
        let value = entry.and_then(|entry| entry.value.text());
        if value.and_then(parse_bool) != Some(false) {
            return;
        }
        let key = keys::REWRITE_PROBERS;
        if !by_default.value && by_default.certainty > Certainty::Unknown {
            self.set(key, Value::from("true"));
            self.remarks.push(format!(
                "`{key}` becomes \"true\": the mesh does not rewrite probes by default, so the \
                 pod had opted in, or the mesh has changed since"
            ));
            return;
        }
        self.take(key, "true");
        if by_default.certainty < Certainty::Known {
            self.remarks.push(format!(
                "`{key}` is removed; it may have been \"true\": set it again if the mesh does not \
                 rewrite probes by default"
            ));
        }
    }

    /// Removes an annotation, or sets it to `else_value` if its line has a comment.
    pub(super) fn take(&mut self, key: &'static str, else_value: &str) {
        let entry = self.workload.template.annotation(key);
        if entry.is_some_and(|entry| has_comment(&self.workload.object, &entry)) {
            self.set(key, Value::from(else_value));
        } else if entry.is_some() {
            self.removed.push(key);
        }
    }

    pub(super) fn set(&mut self, key: &'static str, value: Value) {
        let route = self.workload.template.annotation_route(key);
        self.changes.push(Change::Set { route, value });
    }

    /// Returns all changes, including those to the surrounding mappings.
    pub(super) fn changes(mut self) -> Vec<Change> {
        let (object, template) = (&self.workload.object, &self.workload.template);
        let metadata = template.node.entry("metadata");
        let annotations = metadata.and_then(|metadata| metadata.value.entry("annotations"));
        let (Some(metadata), Some(annotations)) = (metadata, annotations) else {
            return self.changes;
        };
        if self.removed.is_empty() {
            return self.changes;
        }
        if annotations.value.entries().len() > self.removed.len() {
            let removals = self
                .removed
                .iter()
                .map(|key| Change::remove(template.annotation_route(key)));
            self.changes.extend(removals);
            return self.changes;
        }
        let of_metadata = template.route.child("metadata");
        let of_annotations = of_metadata.child("annotations");
        let nothing = Value::Map(Vec::new());
        let change = if has_comment(object, &annotations) {
            Change::set(of_annotations, nothing)
        } else if metadata.value.entries().len() > 1 {
            Change::remove(of_annotations)
        } else if has_comment(object, &metadata) {
            Change::set(of_metadata, nothing)
        } else {
            Change::Remove { route: of_metadata }
        };
        self.changes.push(change);
        self.changes
    }
}
