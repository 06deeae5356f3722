//! Fields of a kustomization that are not modelled, and the objects whose pods they may change.
//!
//! These are the pods, Namespaces and policies that a field selects, unless it only changes values that no prediction
//! reads, such as images. A transformer, or a file that cannot be read, may change every object.
//!
//! Source: kustomize 5.8.2, `api/types` (`Replacement`, `FieldSpec`) and `api/builtins`.

use meshprobe_mesh::mesh::detect;
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::{Entry, NodeRef};

use crate::kustomize::accumulator::{Accumulator, note};
use crate::kustomize::fields::FieldSpec;
use crate::kustomize::finish::runs_pods;
use crate::kustomize::kustomization::{Kustomization, is_nonempty};
use crate::kustomize::locate::{Located, locate, strings};
use crate::kustomize::node::Node;
use crate::kustomize::resource::Resource;
use crate::kustomize::selector::Target;
use crate::kustomize::variables::configured_fields;
use crate::kustomize::{Note, Scope, Topic, inline, plugins};

/// Possible changes of a field; `None` for anything.
type Changes = Option<Vec<Change>>;

/// Possible change of some objects, or a source from which a value is copied.
struct Change {
    is_source: bool,
    /// The affected objects.
    target: Target,
    /// The path in the object, with steps that are separated by dots or slashes.
    path: String,
}

/// Adds notes about the unsupported fields of `k`, with the objects of `accumulator` that they may change.
/// `transformers` are the configurations of its plugins; the fields in `missing` have a note already.
pub(crate) fn add_notes(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    (transformers, missing): (Option<&plugins::Configs>, &[&str]),
    accumulator: &mut Accumulator,
) {
    let is_missing = |entry: &Entry<'_>| entry.key.text().is_some_and(|key| missing.contains(&key));
    let entries = k.root.entries();
    for entry in entries.filter(|entry| is_nonempty(entry.value) && !is_missing(entry)) {
        let Some((message, changes)) = read(sources, k, transformers, &entry, accumulator) else {
            continue;
        };
        let all = &accumulator.resources;
        let read = all
            .iter()
            .filter(|found| runs_pods(found) || is_fact(found));
        let read: Vec<&Resource> = match changes {
            // Anything may change.
            None => all.iter().collect(),
            Some(_) => read.collect(),
        };
        let affects = |resource: &&Resource| match &changes {
            None => true,
            Some(changes) => changes.iter().any(|change| change.may_change(resource)),
        };
        // A fact affects every pod of the kustomization.
        let is_fact_changed =
            changes.is_some() && read.iter().any(|found| is_fact(found) && affects(found));
        let changed = read
            .iter()
            .filter(|found| is_fact_changed || affects(found));
        let changed: Vec<_> = changed.map(|found| found.id()).collect();
        let is_copied = |resource: &&&Resource| {
            let mut changes = changes.iter().flatten();
            changes.any(|change| change.may_copy(resource))
        };
        let copied: Vec<_> = read
            .iter()
            .filter(is_copied)
            .map(|found| found.id())
            .collect();
        let is_modelled = match entry.key.text() {
            Some("vars") => copied.is_empty(),
            // Only fields of variables.
            Some("configurations") => changes.is_some_and(|all| all.is_empty()),
            _ => false,
        };
        if is_modelled {
            continue;
        }
        let topic = match entry.key.text() {
            Some("openapi") => Topic::Schema,
            _ => Topic::Other,
        };
        accumulator.notes.insert(Note {
            topic,
            changed,
            copied,
            ..note(k, entry.key.span(), message, Scope::All)
        });
    }
}

/// Returns the message for an unsupported field, and its possible changes; `None` for other fields.
fn read(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    transformers: Option<&plugins::Configs>,
    entry: &Entry<'_>,
    accumulator: &mut Accumulator,
) -> Option<(String, Changes)> {
    let key = entry.key.text()?;
    let changes = match key {
        // A value that contains `$(NAME)` is never rewritten.
        "vars" => {
            let message = "`vars` copies a value of a probe: the copy is not rewritten";
            return Some((message.to_owned(), Some(variables(k))));
        }
        // The module `openapi` determines its changes.
        "openapi" => Some(Vec::new()),
        "configurations" => configurations(sources, k, &mut accumulator.variable_fields),
        "transformers" if transformers.is_some_and(plugins::are_own) => return None,
        "transformers" => None,
        "replacements" => replacements(sources, k, entry.value),
        _ => return None,
    };
    let message = format!("`{key}` is not modelled: its changes are unknown");
    Some((message, changes))
}

/// Fields of a container or a pod that affect a handler or its rewrite, wherever they are in a path.
const READ: [&str; 6] = [
    "Probe",
    "hostNetwork",
    "istio-proxy",
    "ISTIO_KUBE_APP_PROBERS",
    "lifecycle",
    "ports",
];

/// Fields that contain others which affect a handler.
const OUTER: [&str; 10] = [
    "annotations",
    "containers",
    "initContainers",
    "jobTemplate",
    "labels",
    "metadata",
    "namespace",
    "restartPolicy",
    "spec",
    "template",
];

/// Parts of paths to values that no rewrite changes.
const KEPT: [&str; 5] = ["hostNetwork", "labels", "name", "ports", "restartPolicy"];

impl Change {
    /// Returns whether the change may affect the predictions for an object, or for the pods of its namespace.
    fn may_change(&self, resource: &Resource) -> bool {
        !self.is_source && self.target.selects(resource) && self.is_read(resource)
    }

    /// Returns whether a value that a rewrite changes may be copied from an object.
    fn may_copy(&self, resource: &Resource) -> bool {
        let is_kept = KEPT.iter().any(|part| self.path.contains(part));
        self.is_source && !is_kept && self.target.selects(resource) && self.is_read(resource)
    }

    /// Returns whether the value at the path, or one inside of it, may affect a prediction.
    fn is_read(&self, resource: &Resource) -> bool {
        let path = self.path.as_str();
        let kind = resource.name().kind;
        let steps: Vec<&str> = path.split(['.', '/']).collect();
        let is_namespace = kind == "Namespace";
        let of_metadata = steps.first() == Some(&"metadata") && steps.len() > 1;
        if of_metadata && is_namespace && steps.get(1) == Some(&"name") {
            return true;
        }
        if of_metadata && !is_namespace && kind != "Pod" {
            return matches!(steps.get(1), Some(&("namespace" | "*")));
        }
        if is_fact(resource) && !is_namespace {
            return true;
        }
        is_key_of_mesh(path)
            || READ.iter().any(|part| path.contains(part))
            || outer(&steps).is_none_or(|step| OUTER.contains(&step))
    }
}

/// Returns whether a path leads to a label or annotation of a mesh, except for those that affect only outbound traffic.
fn is_key_of_mesh(path: &str) -> bool {
    let mut maps = ["annotations", "labels"].into_iter();
    let Some((_, key)) = maps.find_map(|map| path.split_once(map)) else {
        return false;
    };
    let key = key.trim_matches(['.', '/', '[', ']']).replace('\\', "");
    (key.contains("istio.io") || detect::is_key_of_mesh(&key)) && !key.contains("Outbound")
}

/// Returns the last step of a path that names a field; `None` for the object itself. The name of a container belongs to
/// the container.
fn outer<'p>(steps: &[&'p str]) -> Option<&'p str> {
    let is_item = |step: &str| {
        step.is_empty()
            || matches!(step, "*" | "-")
            || step.contains('=')
            || step.bytes().all(|byte| byte.is_ascii_digit())
    };
    let has_container = steps.iter().any(|step| step.contains("ontainers"));
    let mut fields = steps.iter().rev().map(|step| step.trim_end_matches("[]"));
    fields.find(|step| !(is_item(step) || has_container && *step == "name"))
}

/// Returns whether an object contains facts about pods of its namespace.
fn is_fact(resource: &Resource) -> bool {
    let (group, _) = resource.group_version();
    match FactKind::of(group, resource.name().kind) {
        Some(FactKind::Namespace | FactKind::PeerAuthentication) => true,
        Some(FactKind::OfMesh) => detect::mesh_of_group(group).is_some(),
        _ => false,
    }
}

/// Returns the fields from which the values of `vars` are copied.
fn variables(k: &Kustomization<'_>) -> Vec<Change> {
    let variable = |item: NodeRef<'_>| {
        let object = k.copy(item.get("objref")?)?;
        let field = item.get("fieldref")?;
        // Both names are common.
        let path = field.get("fieldPath").or_else(|| field.get("fieldpath"));
        source(&object, path.and_then(NodeRef::text))
    };
    k.items("vars").filter_map(variable).collect()
}

/// Returns the field at `path` that is copied from an object; `None` without a path, which means its name.
fn source(object: &Node, path: Option<&str>) -> Option<Change> {
    Some(Change {
        is_source: true,
        target: Target::read(object).ok()?,
        path: path?.to_owned(),
    })
}

fn file(sources: &SourceSet, k: &Kustomization<'_>, entry: &str) -> Option<Vec<Node>> {
    match locate(sources, k.folder, entry) {
        Located::File(file) => inline::from_file(file).ok(),
        _ => None,
    }
}

/// Returns the possible changes of `replacements`. An item is a replacement, or the path of a file with one or several.
fn replacements(sources: &SourceSet, k: &Kustomization<'_>, list: NodeRef<'_>) -> Changes {
    let mut all = Vec::new();
    for item in list.items() {
        let documents = match item.get("path").and_then(NodeRef::text) {
            Some(path) => file(sources, k, path)?,
            None => vec![k.copy(item)?],
        };
        for document in &documents {
            let items = match document.items() {
                [] => std::slice::from_ref(document),
                items => items,
            };
            for item in items {
                replacement(item, &mut all)?;
            }
        }
    }
    Some(all)
}

/// Adds the possible changes of a replacement; returns `None` if it cannot be parsed.
fn replacement(item: &Node, all: &mut Vec<Change>) -> Option<()> {
    for target in item.get("targets")?.items() {
        let mut fields = target.fields().iter();
        let is_known = |key: &str| matches!(key, "select" | "reject" | "fieldPaths" | "options");
        if !fields.all(|field| is_known(&field.key)) {
            return None;
        }
        let select = target.get("select")?;
        // Without paths, the target is the name.
        let paths = target.get("fieldPaths").map(Node::items);
        let paths = paths.unwrap_or_default().iter().filter_map(Node::text);
        let names = ["metadata.name"].into_iter();
        let has_paths = paths.clone().next().is_some();
        for path in paths.chain(names.filter(|_| !has_paths)) {
            all.push(Change {
                is_source: false,
                target: Target::read(select).ok()?,
                path: path.to_owned(),
            });
        }
    }
    let from = item.get("source");
    all.extend(from.and_then(|from| source(from, from.get("fieldPath")?.text())));
    Some(())
}

/// Returns the possible changes of `configurations`: additional fields for the transformers of the kustomization. Adds
/// the fields of variables to `variable_fields`.
fn configurations(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    variable_fields: &mut Vec<FieldSpec>,
) -> Changes {
    let mut all = Vec::new();
    for (path, _) in strings(k.root, "configurations") {
        for config in file(sources, k, path)? {
            variable_fields.extend(configured_fields(&config));
            for field in config.fields() {
                let items = field.value.items().iter();
                match &*field.key {
                    "varReference" => {}
                    "nameReference" => {
                        let specs = items.filter_map(|kind| kind.get("fieldSpecs"));
                        all.extend(specs.flat_map(Node::items).map(field_spec));
                    }
                    "images" | "namePrefix" | "nameSuffix" | "namespace" | "replicas" => {
                        all.extend(items.map(field_spec));
                    }
                    key @ ("commonAnnotations" | "commonLabels" | "labels" | "templateLabels") => {
                        let source = k.root.get(key).map(NodeRef::source);
                        if source.is_some_and(|source| source.contains("istio.io")) {
                            return None;
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    Some(all)
}

fn field_spec(spec: &Node) -> Change {
    Change {
        is_source: false,
        target: Target::of_kind(spec.text_below(&["kind"])),
        path: spec.text_below(&["path"]).to_owned(),
    }
}
