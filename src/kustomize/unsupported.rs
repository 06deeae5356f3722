//! Unsupported fields of a kustomization, and the objects whose pods they may change.
//!
//! The kind of the setting decides: a prefix or a hash does not change probes, a patch may, and a replacement
//! changes the values at its field paths. An unknown setting may change every object.
//!
//! Source: kustomize 5.8.2, `api/types` (`Replacement`, `FieldSpec`) and `api/builtins`.

use crate::source::SourceSet;
use crate::yaml::{Entry, NodeRef};

use crate::kustomize::accumulator::Accumulator;
use crate::kustomize::changes::{Change, ChangeIndex, Changes};
use crate::kustomize::field_path::Style;
use crate::kustomize::fields::FieldSpec;
use crate::kustomize::kustomization::{Kustomization, is_nonempty};
use crate::kustomize::locate::{Located, locate, strings};
use crate::kustomize::node::Node;
use crate::kustomize::resource::Resource;
use crate::kustomize::selector::Target;
use crate::kustomize::spelling::has_other_spelling;
use crate::kustomize::variables::configured_fields;
use crate::kustomize::{Note, Scope, Topic, inline, plugins};

/// Adds notes about the unsupported fields of `k`, with the objects of `accumulator` that they may change.
/// `transformers` are the configurations of its plugins.
pub(crate) fn add_notes(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    transformers: Option<&plugins::Configs>,
    accumulator: &mut Accumulator,
) {
    let entries = k.root.entries();
    for entry in entries.filter(|entry| is_nonempty(entry.value)) {
        let Some((message, changes)) = read(sources, k, transformers, &entry, accumulator) else {
            continue;
        };
        let all = &accumulator.resources;
        let mut effects = ChangeIndex::of(&changes);
        // A fact affects every pod of the kustomization.
        let is_fact_changed = all.iter().any(|resource| effects.may_change_fact(resource));
        let changed = all
            .iter()
            .filter(|resource| is_fact_changed || effects.may_change(resource))
            .map(Resource::id)
            .collect();
        let copied = all
            .iter()
            .filter(|resource| effects.may_copy(resource))
            .map(Resource::id)
            .collect::<Vec<_>>();
        let is_modelled = match entry.key.text() {
            Some("vars") => copied.is_empty(),
            // Only fields of variables.
            Some("configurations") => matches!(&changes, Changes::Some(all) if all.is_empty()),
            _ => false,
        };
        if is_modelled {
            continue;
        }
        let origin = k.origin(entry.key.span());
        accumulator.notes.insert(Note {
            path: origin.path,
            span: origin.span,
            message,
            topic: match entry.key.text() {
                Some("openapi") => Topic::Schema,
                _ => Topic::Other,
            },
            adds_unknown: false,
            absent: None,
            is_refused: false,
            scope: Scope::All,
            changed,
            copied,
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
            return Some((message.to_owned(), Changes::Some(variables(k))));
        }
        // The module `openapi` determines its changes.
        "openapi" => Changes::Some(Vec::new()),
        "configurations" => configurations(sources, k, &mut accumulator.variable_fields),
        "transformers" => match transformers {
            Some(configs) if plugins::are_own(configs) => return None,
            Some(configs) => changes_of_transformers(configs),
            None => Changes::All,
        },
        "replacements" => replacements(sources, k, entry.value),
        _ => return None,
    };
    let message = format!("`{key}` is not modelled: its changes are unknown");
    Some((message, changes))
}

/// Returns the fields from which the values of `vars` are copied.
fn variables(k: &Kustomization<'_>) -> Vec<Change> {
    let variable = |item: NodeRef<'_>| {
        let object = k.copy(item.get("objref")?)?;
        let path = item
            .get("fieldref")
            .and_then(|field| field.get("fieldPath"));
        source(&object, path.and_then(NodeRef::text))
    };
    k.items("vars").filter_map(variable).collect()
}

/// Returns the field at `path` that is copied from an object; `None` without a path, which means its name.
fn source(object: &Node, path: Option<&str>) -> Option<Change> {
    Some(Change {
        is_source: true,
        target: Some(Target::read(object).ok()?),
        kind: String::new(),
        path: Some((path?.to_owned(), Style::Dots)),
    })
}

/// Returns the possible changes of the documents of all entries. An entry that cannot be
/// parsed may change everything.
fn changes_of_entries<'n>(
    entries: impl Iterator<Item = Option<&'n Vec<Node>>>,
    mut read: impl FnMut(&Node) -> Option<Vec<Change>>,
) -> Changes {
    let mut all = Vec::new();
    for documents in entries {
        let Some(documents) = documents.filter(|documents| !any_other_spelling(documents)) else {
            return Changes::All;
        };
        for document in documents {
            match read(document) {
                Some(changes) => all.extend(changes),
                None => return Changes::All,
            }
        }
    }
    Changes::Some(all)
}

fn file(sources: &SourceSet, k: &Kustomization<'_>, entry: &str) -> Option<Vec<Node>> {
    match locate(sources, k.folder, entry) {
        Located::File(file) => inline::from_file(file).ok(),
        _ => None,
    }
}

/// Returns whether kustomize reads a field that this module ignores because of its capitalization.
fn any_other_spelling(documents: &[Node]) -> bool {
    documents.iter().any(has_other_spelling)
}

/// Returns the possible changes of `transformers`; everything if one is unknown.
fn changes_of_transformers(configs: &plugins::Configs) -> Changes {
    changes_of_entries(configs.iter().map(Option::as_ref), |config| {
        if plugins::is_own(config) {
            return Some(Vec::new());
        }
        if config.text_below(&["apiVersion"]) != "builtin" {
            return None;
        }
        match config.text_below(&["kind"]) {
            "HashTransformer" | "LegacyOrderTransformer" | "SortOrderTransformer" => {
                Some(Vec::new())
            }
            "ImageTagTransformer"
            | "PrefixTransformer"
            | "PrefixSuffixTransformer"
            | "ReplicaCountTransformer"
            | "SuffixTransformer" => Some(field_specs(config, "fieldSpecs")),
            "AnnotationsTransformer" => entries(config, "annotations"),
            "LabelTransformer" => entries(config, "labels"),
            "PatchTransformer" | "PatchJson6902Transformer" => {
                let target = Target::read(config.get("target")?).ok()?;
                Some(vec![Change {
                    is_source: false,
                    target: Some(target),
                    kind: String::new(),
                    path: None,
                }])
            }
            "ReplacementTransformer" => config
                .get("replacements")?
                .items()
                .iter()
                .map(replacement)
                .collect::<Option<Vec<_>>>()
                .map(concat),
            _ => None,
        }
    })
}

fn concat(all: Vec<Vec<Change>>) -> Vec<Change> {
    all.into_iter().flatten().collect()
}

/// Returns the possible changes of added labels or annotations: none, or `None` if one of them may affect probes.
fn entries(config: &Node, key: &str) -> Option<Vec<Change>> {
    let fields = config.get(key).map(Node::fields).unwrap_or_default();
    let is_known = |path: &str| {
        let last = path.rsplit('/').next().unwrap_or_default();
        matches!(last, "annotations" | "labels" | "matchLabels" | "selector")
    };
    let specs = config
        .get("fieldSpecs")
        .map(Node::items)
        .unwrap_or_default();
    let is_plain = fields.iter().all(|field| !field.key.contains("istio.io"))
        && specs
            .iter()
            .all(|spec| is_known(spec.text_below(&["path"])));
    is_plain.then(Vec::new)
}

fn field_specs(config: &Node, key: &str) -> Vec<Change> {
    let specs = config.get(key).map(Node::items).unwrap_or_default();
    specs.iter().map(field_spec).collect()
}

fn field_spec(spec: &Node) -> Change {
    Change {
        is_source: false,
        target: None,
        kind: spec.text_below(&["kind"]).to_owned(),
        path: Some((spec.text_below(&["path"]).to_owned(), Style::Slashes)),
    }
}

/// Returns the possible changes of `replacements`. An item is a replacement, or the path of a file with one or several.
fn replacements(sources: &SourceSet, k: &Kustomization<'_>, list: NodeRef<'_>) -> Changes {
    let changes = |item: NodeRef<'_>| -> Option<Vec<Change>> {
        let Some(path) = item.get("path").and_then(NodeRef::text) else {
            return replacement(&k.copy(item)?);
        };
        let documents = file(sources, k, path)?;
        if any_other_spelling(&documents) {
            return None;
        }
        documents
            .iter()
            .flat_map(|document| match document.items() {
                [] => std::slice::from_ref(document),
                items => items,
            })
            .map(replacement)
            .collect::<Option<Vec<_>>>()
            .map(concat)
    };
    list.items()
        .map(changes)
        .collect::<Option<Vec<_>>>()
        .map_or(Changes::All, |all| Changes::Some(concat(all)))
}

/// Returns the possible changes of a replacement; `None` if it cannot be parsed.
fn replacement(item: &Node) -> Option<Vec<Change>> {
    let mut all = item
        .get("targets")?
        .items()
        .iter()
        .map(target_changes)
        .collect::<Option<Vec<_>>>()
        .map(concat)?;
    let from = item.get("source");
    all.extend(from.and_then(|from| source(from, from.get("fieldPath")?.text())));
    Some(all)
}

fn target_changes(target: &Node) -> Option<Vec<Change>> {
    let paths = target
        .get("fieldPaths")
        .map(Node::items)
        .unwrap_or_default();
    let paths: Vec<&str> = match paths {
        [] => vec!["metadata.name"],
        paths => paths.iter().filter_map(Node::text).collect(),
    };
    let change = |path: &str| {
        Some(Change {
            is_source: false,
            target: Some(Target::read(target.get("select")?).ok()?),
            kind: String::new(),
            path: Some((path.to_owned(), Style::Dots)),
        })
    };
    paths.into_iter().map(change).collect()
}

/// Returns the possible changes of `configurations`: additional fields for the transformers of the kustomization. Adds
/// the fields of variables to `variable_fields`.
fn configurations(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    variable_fields: &mut Vec<FieldSpec>,
) -> Changes {
    let files = strings(k.root, "configurations").into_iter();
    let files: Vec<_> = files.map(|(path, _)| file(sources, k, path)).collect();
    changes_of_entries(files.iter().map(Option::as_ref), |config| {
        let mut all = Vec::new();
        variable_fields.extend(configured_fields(config));
        for field in config.fields() {
            match &*field.key {
                "varReference" => {}
                "nameReference" => {
                    let kinds = field.value.items().iter();
                    all.extend(kinds.flat_map(|kind| field_specs(kind, "fieldSpecs")));
                }
                "images" | "namePrefix" | "nameSuffix" | "namespace" | "replicas" => {
                    all.extend(field.value.items().iter().map(field_spec));
                }
                key @ ("commonAnnotations" | "commonLabels" | "labels" | "templateLabels") => {
                    let source = k.root.get(key).map(NodeRef::source).unwrap_or_default();
                    if source.contains("istio.io") {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        Some(all)
    })
}
