//! ConfigMaps and Secrets that the generators of kustomizations make.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::{SourceFile, SourceSet, is_kustomization, placeholder};
use meshprobe_yaml::{FieldPath, NodeRef, Span};

use crate::kustomize::accumulator::Accumulator;
use crate::kustomize::kustomization::{Kustomization, REFUSED, is_nonempty};
use crate::kustomize::locate::{Located, absent_path, file, locate, strings};
use crate::kustomize::node::{Node, Origin};
use crate::kustomize::resource::Resource;

/// Fields of a kustomization that copy files, with the kind of the generated object.
const GENERATORS: [(&str, &str); 2] = [
    ("configMapGenerator", "ConfigMap"),
    ("secretGenerator", "Secret"),
];

/// Fields of a ConfigMap or Secret that contain values.
const DATA: [&str; 2] = ["data", "stringData"];

/// Generator that copies a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFrom {
    /// The kustomization, as shown to the user.
    pub kustomization: Arc<str>,
    /// The object that contains the file, such as ``ConfigMap `apps` ``.
    pub object: String,
}

/// Returns the files that generators list under `files`, by path, each with the first generator that lists it.
#[must_use]
pub fn generator_files(sources: &SourceSet) -> HashMap<Arc<str>, GeneratedFrom> {
    let mut found = HashMap::new();
    let files = sources.files.iter();
    for kustomization in files.filter(|file| is_kustomization(&file.path)) {
        for (file, object) in named_by(sources, kustomization) {
            found
                .entry(Arc::clone(&file.path))
                .or_insert_with(|| GeneratedFrom {
                    kustomization: Arc::clone(&kustomization.path),
                    object,
                });
        }
    }
    found
}

/// Returns the files that the generators of one kustomization list, with the titles of the generated objects.
pub(crate) fn named_by<'s>(
    sources: &'s SourceSet,
    kustomization: &SourceFile,
) -> Vec<(&'s SourceFile, String)> {
    let Some(k) = Kustomization::new(kustomization) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, kind) in GENERATORS {
        for generator in k.items(key) {
            let name = generator.get("name").and_then(NodeRef::text);
            let object = format!("{kind} `{}`", name.unwrap_or_default());
            let files = strings(generator, "files")
                .into_iter()
                .filter_map(|(entry, _)| file(sources, k.folder, path_of_entry(entry)));
            found.extend(files.map(|file| (file, object.clone())));
        }
    }
    found
}

/// The largest content of a ConfigMap or Secret that the API server accepts, in bytes.
const LARGEST: usize = 1 << 20;

/// Adds the ConfigMaps and Secrets that the generators of a kustomization make. Their names do not have the hash that
/// kustomize appends, because references to them do not have it either. A value that is not known is a mapping and not a
/// string.
///
/// Source: kustomize 5.8.2, `api/kv/kv.go`, `api/resmap/reswrangler.go` (`appendReplaceOrMerge`).
pub(crate) fn add_generated(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    accumulator: &mut Accumulator,
) {
    for (field, kind) in GENERATORS {
        for (at, generator) in k.items(field).enumerate() {
            let name = generator.get("name").filter(|name| is_nonempty(*name));
            let Some(name) = name else {
                let message = format!("the generator has no name: {REFUSED}");
                accumulator.add_note(k, generator.span(), message);
                continue;
            };
            let mut refused = Vec::new();
            let object = object(sources, k, kind, (generator, name), &mut refused);
            for (at, message) in refused {
                accumulator.add_note(k, at, format!("{message}: {REFUSED}"));
            }
            let resource = Resource {
                body: object,
                path: Arc::clone(k.path),
                index: k.document,
                item: FieldPath::root().child(field).child(at),
                is_intact: false,
                previous: Vec::new(),
            };
            match generator.get("behavior").and_then(NodeRef::text) {
                Some(behavior @ ("merge" | "replace")) => {
                    let is_found = change(&resource, accumulator, behavior == "merge");
                    if !is_found && !accumulator.has_unknown_objects {
                        let object = resource.name().name;
                        let message = format!(
                            "`behavior: {behavior}` requires {kind}/{object}, which does not exist: {REFUSED}"
                        );
                        accumulator.add_note(k, name.span(), message);
                    }
                }
                _ => accumulator.add_generated(k, name.span(), resource),
            }
        }
    }
}

/// Merges generated values into the object of the same name, or replaces its values. Returns whether there is one.
fn change(generated: &Resource, accumulator: &mut Accumulator, is_merged: bool) -> bool {
    let wanted = generated.identity();
    let mut resources = accumulator.resources.iter_mut();
    let Some(old) = resources.find(|resource| resource.was_ever(wanted)) else {
        return false;
    };
    let own = &generated.body;
    let body = old.change();
    for key in DATA {
        let fields = own.get(key).map(Node::fields).unwrap_or_default();
        if !is_merged {
            body.remove(key);
        }
        for field in fields {
            if body.get(key).is_none_or(|data| data.fields().is_empty()) {
                body.set(key, &field.origin, Node::empty_map(&field.origin));
            }
            if let Some(data) = body.get_mut(key) {
                data.set(&field.key, &field.origin, field.value.clone());
            }
        }
    }
    true
}

/// Returns a generated object. The values of a Secret are not encoded. Adds what kustomize refuses.
fn object(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    kind: &str,
    (generator, name): (NodeRef<'_>, NodeRef<'_>),
    refused: &mut Refused,
) -> Node {
    let whole = k.origin(generator.span());
    let mut metadata = Node::empty_map(&whole);
    for (key, node) in [
        ("name", Some(name)),
        ("namespace", generator.get("namespace")),
    ] {
        if let Some(text) = node.and_then(NodeRef::text).filter(|text| !text.is_empty()) {
            let origin = k.origin(node.unwrap_or(name).span());
            metadata.set(key, &origin, Node::text_at(text, &origin));
        }
    }
    let mut data = Node::empty_map(&whole);
    for (key, at, origin, value) in pairs(sources, k, generator, refused) {
        if data.get(&key).is_some() && !placeholder::contains(&key) {
            refused.push((
                at,
                format!(
                    "{kind} `{}` has the key `{key}` twice",
                    name.text().unwrap_or_default()
                ),
            ));
        }
        data.set(&key, &origin, value);
    }
    let mut object = Node::empty_map(&whole);
    object.set("apiVersion", &whole, Node::text_at("v1", &whole));
    object.set("kind", &whole, Node::text_at(kind, &whole));
    object.set("metadata", &whole, metadata);
    let key = if kind == "Secret" {
        "stringData"
    } else {
        "data"
    };
    object.set(key, &whole, data);
    object
}

/// Places in a kustomization with what kustomize refuses there.
type Refused = Vec<(Span, String)>;

/// Returns the keys and values of a generator, with the entries from which they come and the origins of the keys. Adds the
/// entries that kustomize refuses.
///
/// Source: kustomize 5.8.2, `api/kv/kv.go`, `api/internal/generators/utils.go` (`ParseFileSource`), and
/// `api/internal/loader/fileloader.go`; the refusals were compared with those of a build.
fn pairs(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    generator: NodeRef<'_>,
    refused: &mut Refused,
) -> Vec<(String, Span, Origin, Node)> {
    let mut found = Vec::new();
    let single = generator
        .get("env")
        .and_then(|node| Some((node.text()?, node)));
    let is_open = |entry: &str| placeholder::contains(entry);
    for (entry, node) in single.into_iter().chain(strings(generator, "envs")) {
        match file(sources, k.folder, entry) {
            Some(file) => {
                let lines = lines(file).into_iter();
                found.extend(lines.map(|(key, origin, value)| (key, node.span(), origin, value)));
            }
            None => {
                refused.extend(missing_file(sources, k, entry).map(|text| (node.span(), text)));
                let origin = k.origin(node.span());
                let unknown = Node::empty_map(&origin);
                found.push((entry.to_owned(), node.span(), origin, unknown));
            }
        }
    }
    for (entry, node) in strings(generator, "literals") {
        match entry.split_once('=').filter(|(key, _)| !key.is_empty()) {
            Some((key, value)) => {
                let origin = k.origin(node.span());
                let value = Node::text_at(unquoted(value), &origin);
                found.push((key.to_owned(), node.span(), origin, value));
            }
            None if is_open(entry) => {}
            None => refused.push((
                node.span(),
                format!("the literal `{entry}` is not `KEY=VALUE`"),
            )),
        }
    }
    for (entry, node) in strings(generator, "files") {
        let origin = k.origin(node.span());
        let path = path_of_entry(entry);
        let value = match file(sources, k.folder, path) {
            Some(file) if file.text.len() <= LARGEST => {
                let whole = Origin {
                    path: Arc::clone(&file.path),
                    span: Span::new(0, file.text.len()),
                };
                Node::text_at(&file.text, &whole)
            }
            _ => Node::empty_map(&origin),
        };
        let key = key_of_entry(entry);
        let is_pair =
            !entry.contains('=') || !key.is_empty() && !path.is_empty() && !path.contains('=');
        let why = match is_pair || is_open(entry) {
            true => missing_file(sources, k, path),
            false => Some(format!("the entry `{entry}` is not `PATH` or `KEY=PATH`")),
        };
        refused.extend(why.map(|text| (node.span(), text)));
        found.push((key.to_owned(), node.span(), origin, value));
    }
    found
}

/// Returns why kustomize cannot read an entry; `None` if it may be a file.
fn missing_file(sources: &SourceSet, k: &Kustomization<'_>, entry: &str) -> Option<String> {
    if absent_path(sources, k.folder, entry).is_some() {
        return Some(format!("`{entry}` does not exist"));
    }
    match locate(sources, k.folder, entry) {
        Located::Folder | Located::Kustomization(_) => {
            Some(format!("`{entry}` is a folder and not a file"))
        }
        _ => None,
    }
}

/// Returns the variables of an env file.
fn lines(file: &SourceFile) -> Vec<(String, Origin, Node)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in file.text.split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        let shown = text.trim_start_matches('\u{feff}').trim_start();
        if !shown.is_empty() && !shown.starts_with('#') {
            let origin = Origin {
                path: Arc::clone(&file.path),
                span: Span::new(start, start + text.len()),
            };
            let (key, value) = shown.split_once('=').unwrap_or((shown, ""));
            found.push((
                key.to_owned(),
                origin.clone(),
                Node::text_at(value, &origin),
            ));
        }
        start += line.len();
    }
    found
}

/// Removes the quotes around the value of a literal.
fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

/// Returns the key of an entry of `files`: the name of the file, unless the entry starts with a key.
fn key_of_entry(entry: &str) -> &str {
    let name = || entry.rsplit('/').next().unwrap_or_default();
    entry.split_once('=').map_or_else(name, |(key, _)| key)
}

/// Returns the path of an entry of `files`, which may start with a key: `KEY=PATH` (kustomize,
/// `ParseFileSource` in `api/internal/generators/utils.go`).
fn path_of_entry(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(_, path)| path)
}
