//! Fields of a kustomization that are not followed, and whose pods they may change.
//!
//! Decided by kind: a prefix or a hash changes no probe, a patch may, and a replacement changes
//! what its field paths lead to. What is not understood may change every object.
//!
//! Source: kustomize 5.8.2, `api/types` (`Replacement`, `FieldSpec`) and `api/builtins`.

use crate::source::SourceSet;
use crate::yaml::{Entry, NodeRef};

use super::changes::{Change, Changes, Effects};
use super::field_path::Style;
use super::gather::Gathered;
use super::inline;
use super::kustomization::{Kustomization, says_something};
use super::locate::{Located, locate, strings};
use super::node::Node;
use super::resource::Resource;
use super::selector::Target;
use super::spelling::has_other_spelling;
use super::{Note, Scope};

/// Says what of `k` is not followed, and for which objects of `gathered` that may matter.
pub(super) fn tell(sources: &SourceSet, k: &Kustomization<'_>, gathered: &mut Gathered) {
    let entries = k.root.entries();
    let said = entries.filter(|entry| says_something(entry.value));
    for entry in said {
        let Some((message, changes)) = read(sources, k, &entry) else {
            continue;
        };
        let all = &gathered.resources;
        let mut effects = Effects::of(&changes);
        // A fact decides about every pod beside it.
        let is_fact_changed = all.iter().any(|one| effects.may_change_fact(one));
        let touched: Vec<&Resource> = all
            .iter()
            .filter(|one| is_fact_changed || effects.may_change(one))
            .collect();
        let copied = all.iter().filter(|one| effects.may_copy(one));
        let (touched, copied) = (
            touched.into_iter().map(Resource::id).collect(),
            copied.map(Resource::id).collect(),
        );
        let place = k.origin(entry.key.span());
        gathered.notes.insert(Note {
            path: place.path,
            span: place.span,
            message,
            scope: Scope::All,
            touched,
            copied,
        });
    }
}

/// Returns what is said of a field that is not followed, and what it may change.
fn read(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    entry: &Entry<'_>,
) -> Option<(String, Changes)> {
    let key = entry.key.text()?;
    let changes = match key {
        // Only `$(NAME)` is replaced, and a value with such a text is never rewritten.
        "vars" => {
            let said = "`vars` is not modelled: `$(NAME)` is taken as it is written";
            return Some((said.to_owned(), Changes::Some(variables(k))));
        }
        "openapi" => openapi(k),
        "configurations" => configurations(sources, k),
        "transformers" => transformers(sources, k),
        "replacements" => in_list(sources, k, entry.value),
        _ => return None,
    };
    let said = format!("`{key}` is not modelled: what it changes is not seen");
    Some((said, changes))
}

/// Returns where the values of `vars` come from.
fn variables(k: &Kustomization<'_>) -> Vec<Change> {
    let each = k.items("vars");
    let read = |one: NodeRef<'_>| {
        let object = k.copy(one.get("objref")?)?;
        let path = one.get("fieldref").and_then(|field| field.get("fieldPath"));
        source(&object, path.and_then(NodeRef::text))
    };
    each.filter_map(read).collect()
}

/// Returns what is copied from an object; none for its name.
fn source(object: &Node, path: Option<&str>) -> Option<Change> {
    Some(Change {
        is_source: true,
        target: Some(Target::read(object).ok()?),
        kind: String::new(),
        path: Some((path?.to_owned(), Style::Dots)),
    })
}

/// Another schema changes how patches are merged.
fn openapi(k: &Kustomization<'_>) -> Changes {
    let patches = ["patches", "patchesStrategicMerge"];
    if patches.iter().any(|key| k.entry(key).is_some()) {
        return Changes::All;
    }
    Changes::Some(Vec::new())
}

/// Reads each entry of a list of files and texts, and adds up what they may change; one that
/// cannot be read may change everything.
fn each(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    key: &str,
    read: impl Fn(&Node) -> Option<Vec<Change>>,
) -> Changes {
    let mut all = Vec::new();
    for (text, node) in strings(k.root, key) {
        let documents = if text.contains('\n') {
            inline::from_scalar(node, k, false).ok()
        } else {
            file(sources, k, text)
        };
        let Some(documents) = documents.filter(|documents| !any_other_spelling(documents)) else {
            return Changes::All;
        };
        for document in &documents {
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

/// Returns whether kustomize reads a field that is not read here, because of its capitalization.
fn any_other_spelling(documents: &[Node]) -> bool {
    documents.iter().any(has_other_spelling)
}

/// `None` stands for anything.
fn transformers(sources: &SourceSet, k: &Kustomization<'_>) -> Changes {
    each(sources, k, "transformers", |config| {
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
            "ReplacementTransformer" => {
                let list = config.get("replacements")?.items().iter();
                list.map(replacement)
                    .collect::<Option<Vec<_>>>()
                    .map(concat)
            }
            _ => None,
        }
    })
}

fn concat(all: Vec<Vec<Change>>) -> Vec<Change> {
    all.into_iter().flatten().collect()
}

/// Labels or annotations are added to objects; those of the mesh decide about probes.
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

fn field_specs(holder: &Node, key: &str) -> Vec<Change> {
    let specs = holder.get(key).map(Node::items).unwrap_or_default();
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

/// Reads `replacements`: each stands there, or in a file, which may hold several.
fn in_list(sources: &SourceSet, k: &Kustomization<'_>, list: NodeRef<'_>) -> Changes {
    let one = |item: NodeRef<'_>| -> Option<Vec<Change>> {
        let Some(path) = item.get("path").and_then(NodeRef::text) else {
            return replacement(&k.copy(item)?);
        };
        let documents = file(sources, k, path)?;
        if any_other_spelling(&documents) {
            return None;
        }
        let inner = documents
            .iter()
            .flat_map(|document| match document.items() {
                [] => std::slice::from_ref(document),
                items => items,
            });
        inner
            .map(replacement)
            .collect::<Option<Vec<_>>>()
            .map(concat)
    };
    let all: Option<Vec<_>> = list.items().map(one).collect();
    all.map_or(Changes::All, |all| Changes::Some(concat(all)))
}

/// `None` where it is not understood.
fn replacement(one: &Node) -> Option<Vec<Change>> {
    let targets = one.get("targets")?.items().iter();
    let all: Option<Vec<Vec<Change>>> = targets.map(replaced).collect();
    let mut all = all.map(concat)?;
    let from = one.get("source");
    all.extend(from.and_then(|from| source(from, from.get("fieldPath")?.text())));
    Some(all)
}

fn replaced(target: &Node) -> Option<Vec<Change>> {
    let paths = target
        .get("fieldPaths")
        .map(Node::items)
        .unwrap_or_default();
    let paths: Vec<&str> = match paths {
        [] => vec!["metadata.name"],
        paths => paths.iter().filter_map(Node::text).collect(),
    };
    let read = |path: &str| {
        Some(Change {
            is_source: false,
            target: Some(Target::read(target.get("select")?).ok()?),
            kind: String::new(),
            path: Some((path.to_owned(), Style::Dots)),
        })
    };
    paths.into_iter().map(read).collect()
}

/// Fields that the transformations of the kustomization shall change too.
fn configurations(sources: &SourceSet, k: &Kustomization<'_>) -> Changes {
    each(sources, k, "configurations", |config| {
        let mut all = Vec::new();
        for field in config.fields() {
            match &*field.key {
                "varReference" => {}
                "nameReference" => {
                    let kinds = field.value.items().iter();
                    all.extend(kinds.flat_map(|one| field_specs(one, "fieldSpecs")));
                }
                "images" | "namePrefix" | "nameSuffix" | "namespace" | "replicas" => {
                    all.extend(field.value.items().iter().map(field_spec));
                }
                key @ ("commonAnnotations" | "commonLabels" | "labels" | "templateLabels") => {
                    let own = k.root.get(key).map(NodeRef::source).unwrap_or_default();
                    if own.contains("istio.io") {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        Some(all)
    })
}
