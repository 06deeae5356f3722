//! Applications that an Argo CD ApplicationSet generates, as far as the tree contains the data.
//!
//! Supports the generators `list`, `git.directories` and `git.files` for folders and files of the tree, and `matrix` of
//! two of them. Values that they do not fill in remain placeholders.
//! Source: Argo CD, `argoproj.io/v1alpha1` ApplicationSet.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use hashbrown::HashMap;
use meshprobe_mesh::kube::delivery::SourceName;
use meshprobe_mesh::kube::{Object, RenderingId, Requirements};
use meshprobe_tree::source::limits::ValueCount;
use meshprobe_tree::source::{SourceSet, paths};
use meshprobe_yaml::{FieldPath, NodeRef, parse_embedded};

use crate::gitops::repositories::{Repositories, SourcePlace};
use crate::kustomize::copy::read;
use crate::kustomize::node::{Node, Origin, Value};
use crate::kustomize::{Limit, RenderedDocument, Rendering, finish, limit};

/// The depth to which values of lists and files are read.
const DEPTH: usize = 16;

/// The most bytes that the `values` of a generator may have.
const MOST_TEXT: usize = 1 << 16;

/// Values by the name of the placeholder.
type Values = BTreeMap<String, String>;

/// Values of one Application; later ones take precedence. The Applications of a matrix share them.
type Parameters = Vec<Rc<Values>>;

/// Folders of the tree, for the `git.directories` generator.
struct Folders<'s> {
    sources: &'s SourceSet,
    /// The folders of each repository, relative to its root; by the displayed path of the root.
    by_root: RefCell<HashMap<Arc<str>, Rc<BTreeSet<String>>>>,
}

impl<'s> Folders<'s> {
    fn of(sources: &'s SourceSet) -> Self {
        Self {
            sources,
            by_root: RefCell::default(),
        }
    }

    /// Returns the folders of the repository that contains `file`.
    fn in_repository_of(&self, file: &str) -> Rc<BTreeSet<String>> {
        let file = self.sources.file(file);
        let root = file.and_then(|file| file.repository.clone());
        let root = root.unwrap_or_default();
        let mut known = self.by_root.borrow_mut();
        let found = known
            .entry(Arc::clone(&root))
            .or_insert_with(|| self.below(&root).into());
        Rc::clone(found)
    }

    fn below(&self, root: &str) -> BTreeSet<String> {
        let mut folders: BTreeSet<String> = BTreeSet::new();
        let mut previous = None;
        for file in &self.sources.files {
            // Files are sorted: most are in the same folder as the previous one.
            let folder = paths::folder(&file.path);
            if previous == Some(folder) {
                continue;
            }
            previous = Some(folder);
            let Some(path) = self.sources.relative_to(root, &file.path) else {
                continue;
            };
            let ends = path.match_indices('/').map(|(at, _)| at);
            folders.extend(ends.filter_map(|end| Some(path.get(..end)?.to_owned())));
        }
        folders
    }
}

/// Cache of the renderings of ApplicationSets, because deploying objects are visited several times.
pub(crate) struct Sets<'s> {
    folders: Folders<'s>,
    count: &'s ValueCount,
    /// By the location of each set; with its text, so that no other text gets the same address.
    cached: HashMap<SetAddress, (Arc<str>, Option<Arc<Rendering>>)>,
}

/// Address of a text, offset of the document in it, and id of the object's node.
type SetAddress = (*const u8, usize, u32);

impl<'s> Sets<'s> {
    pub(crate) fn of(sources: &'s SourceSet, count: &'s ValueCount) -> Self {
        Self {
            folders: Folders::of(sources),
            count,
            cached: HashMap::new(),
        }
    }

    /// Returns one rendering for each set among `objects`.
    pub(crate) fn expand<'t>(
        &mut self,
        repositories: &Repositories<'t>,
        objects: &[Object<'t>],
    ) -> Vec<Arc<Rendering>> {
        objects
            .iter()
            .filter(|object| (object.group(), object.kind) == ("argoproj.io", "ApplicationSet"))
            .filter_map(|set| self.rendering(repositories, set))
            .collect()
    }

    fn rendering<'t>(
        &mut self,
        repositories: &Repositories<'t>,
        set: &Object<'t>,
    ) -> Option<Arc<Rendering>> {
        let tree = set.node.tree();
        let address = (tree.text().as_ptr(), tree.segment().start, set.node.id());
        let (_, rendering) = self.cached.entry(address).or_insert_with(|| {
            let rendering = render_set(&self.folders, repositories, self.count, set).map(Arc::new);
            (Arc::clone(tree.text()), rendering)
        });
        rendering.clone()
    }
}

fn render_set<'t>(
    folders: &Folders<'_>,
    repositories: &Repositories<'t>,
    count: &ValueCount,
    set: &Object<'t>,
) -> Option<Rendering> {
    let origin = |span| {
        let label = set.label_at(span, "");
        Origin {
            path: label.path,
            span: label.span,
        }
    };
    let spec = set.node.get("spec")?;
    let template = read(spec.get("template")?, &origin).ok()?;
    let base = application(&template, &origin(set.name_span()));
    let generators = spec.get("generators")?.items();
    // More Applications exceed the limit.
    let most = count.left() / limit::OTHER + 1;
    let mut all: Vec<Parameters> = Vec::new();
    let is_here = |git: NodeRef<'t>| {
        let name = SourceName::of_argo(git);
        repositories.place(folders.sources, set, &name, false) == SourcePlace::Here
    };
    for generator in generators {
        all.extend(parameters(folders, set, generator, most, &is_here, true));
        all.truncate(most);
    }
    let mut documents = Vec::new();
    let mut held = 0;
    let mut left_out = (all.len() == most).then_some(Limit::All);
    for parameters in &all {
        let mut application = base.clone();
        if !fill(
            &mut application,
            parameters,
            count.left().saturating_mul(limit::TEXT),
        ) {
            left_out = Some(Limit::All);
            break;
        }
        let Some(document) = finish::document(&application, set.document) else {
            continue;
        };
        let size = limit::values_of(&document, false);
        if !count.add(size) {
            left_out = Some(Limit::All);
            break;
        }
        held += size;
        documents.push(RenderedDocument {
            document,
            item: FieldPath::root(),
            may_deploy: true,
            runs_pods: false,
        });
    }
    Some(Rendering {
        id: RenderingId::of_root(set.path()),
        deployed: None,
        documents: documents.into(),
        used: Arc::default(),
        patches: BTreeSet::new(),
        applied: BTreeSet::new(),
        notes: Vec::new(),
        has_unknown_objects: left_out.is_some(),
        options: BTreeSet::new(),
        left_out,
        held,
    })
}

/// Returns the Application of a template, before placeholders are filled in.
fn application(template: &Node, origin: &Origin) -> Node {
    let mut object = Node::empty_map(origin);
    for (key, text) in [
        ("apiVersion", "argoproj.io/v1alpha1"),
        ("kind", "Application"),
    ] {
        object.set(key, origin, Node::text_at(text, origin));
    }
    for field in template.fields() {
        object.set(&field.key, &field.origin, field.value.clone());
    }
    object
}

/// Returns the sets of values that a generator yields and its `selector` selects, `most` at the maximum; one empty set if
/// the generator is not supported. `is_here` returns whether a `git` generator reads the repository of the set.
///
/// Source: Argo CD 3.1, `Transform` in `applicationset/generators/generator_spec_processor.go`: the values are the labels.
fn parameters<'t>(
    folders: &Folders<'_>,
    set: &Object<'_>,
    generator: NodeRef<'t>,
    most: usize,
    is_here: &impl Fn(NodeRef<'t>) -> bool,
    may_nest: bool,
) -> Vec<Parameters> {
    let mut found = generated(folders, set, generator, most, is_here, may_nest);
    if let Some(selector) = generator.get_set("selector") {
        let selector = Requirements::parse(Some(selector));
        // A generator that is not supported may set further values.
        let is_supported = |one: NodeRef<'t>| one.get("list").is_some() || one.get("git").is_some();
        let nested = generator
            .get("matrix")
            .and_then(|matrix| matrix.get("generators"));
        let is_open = match nested {
            Some(nested) => !nested.items().all(is_supported),
            None => !is_supported(generator),
        };
        found.retain(|parameters| {
            let value = |key: &str| {
                let mut sets = parameters.iter().rev();
                sets.find_map(|values| Some(values.get(key)?.as_str()))
            };
            let is_unknown = is_open && selector.keys().any(|key| value(key).is_none());
            parameters.is_empty() || is_unknown || selector.matches(value)
        });
    }
    found
}

fn generated<'t>(
    folders: &Folders<'_>,
    set: &Object<'_>,
    generator: NodeRef<'t>,
    most: usize,
    is_here: &impl Fn(NodeRef<'t>) -> bool,
    may_nest: bool,
) -> Vec<Parameters> {
    if let Some(elements) = generator.get("list").and_then(|list| list.get("elements")) {
        return elements
            .items()
            .take(most)
            .map(|element| vec![values_of(element).into()])
            .collect();
    }
    if let Some(git) = generator.get("git").filter(|git| is_here(*git)) {
        let found = if let Some(listed) = git.get("directories") {
            directories(&folders.in_repository_of(set.path()), listed, most)
        } else if let Some(listed) = git.get("files") {
            files(folders.sources, set, listed, most)
        } else {
            Vec::new()
        };
        // Without a folder or a file, the placeholders remain, and are reported.
        if !found.is_empty() {
            return found
                .into_iter()
                .map(|found| completed(found, git))
                .collect();
        }
    }
    let nested = generator
        .get("matrix")
        .and_then(|matrix| matrix.get("generators"));
    let Some(nested) = nested.filter(|_| may_nest) else {
        return vec![Parameters::new()];
    };
    let mut product = vec![Parameters::new()];
    for inner in nested.items().take(2) {
        let right = parameters(folders, set, inner, most, is_here, false);
        product = product
            .iter()
            .flat_map(|left| {
                right.iter().map(|right| {
                    let mut both = left.clone();
                    both.extend(right.iter().cloned());
                    both
                })
            })
            .take(most)
            .collect();
    }
    product
}

/// Returns the scalars of a mapping; those of nested mappings and lists have the name `outer.inner`.
fn values_of(element: NodeRef<'_>) -> Values {
    let mut found = Values::new();
    let mut pending = vec![(String::new(), element, DEPTH)];
    while let Some((name, node, depth)) = pending.pop() {
        if let Some(text) = node.text().filter(|_| !name.is_empty()) {
            found.insert(name, text.to_owned());
            continue;
        }
        let Some(depth) = depth.checked_sub(1) else {
            continue;
        };
        let inner = |key: &str| match name.as_str() {
            "" => key.to_owned(),
            outer => format!("{outer}.{key}"),
        };
        let entries = node.entries();
        let entries = entries.filter_map(|entry| Some((inner(entry.key.text()?), entry.value)));
        let items = node.items().enumerate();
        let items = items.map(|(at, item)| (inner(&at.to_string()), item));
        pending.extend(entries.chain(items).map(|(name, node)| (name, node, depth)));
    }
    found
}

/// The paths that a `git` generator selects.
struct Paths {
    included: Vec<GlobMatcher>,
    excluded: Vec<GlobMatcher>,
}

impl Paths {
    /// Reads a list of globs. `*` matches `/` only if `is_deep` is set.
    fn of(listed: NodeRef<'_>, is_deep: bool) -> Self {
        let (mut included, mut excluded) = (Vec::new(), Vec::new());
        for item in listed.items() {
            let path = item.get("path").and_then(NodeRef::text).unwrap_or_default();
            let path = path.trim_start_matches("./").trim_end_matches('/');
            let glob = GlobBuilder::new(path).literal_separator(!is_deep).build();
            let Ok(glob) = glob else { continue };
            let is_excluded = item.get("exclude").and_then(NodeRef::text) == Some("true");
            let list = if is_excluded {
                &mut excluded
            } else {
                &mut included
            };
            list.push(glob.compile_matcher());
        }
        Self { included, excluded }
    }

    fn select(&self, path: &str) -> bool {
        let is_match = |globs: &[GlobMatcher]| globs.iter().any(|glob| glob.is_match(path));
        is_match(&self.included) && !is_match(&self.excluded)
    }
}

/// Returns the folders that a glob matches and no glob excludes, `most` at the maximum.
fn directories(folders: &BTreeSet<String>, listed: NodeRef<'_>, most: usize) -> Vec<Parameters> {
    let paths = Paths::of(listed, false);
    folders
        .iter()
        .filter(|folder| paths.select(folder))
        .take(most)
        .map(|folder| vec![path_parameters(folder).into()])
        .collect()
}

/// Returns the objects in the files that a glob matches and no glob excludes, `most` at the maximum.
///
/// Source: Argo CD 3.1, `generateParamsFromGitFile` in `applicationset/generators/git.go`. The globs are those of
/// `git ls-files`, whose `*` also matches `/`.
fn files(
    sources: &SourceSet,
    set: &Object<'_>,
    listed: NodeRef<'_>,
    most: usize,
) -> Vec<Parameters> {
    let paths = Paths::of(listed, true);
    let root = sources.file(set.path());
    let root = root
        .and_then(|file| file.repository.clone())
        .unwrap_or_default();
    let mut found = Vec::new();
    for file in &sources.files {
        let path = sources.relative_to(&root, &file.path);
        let Some(path) = path.filter(|path| paths.select(path)) else {
            continue;
        };
        let Some(document) = file.documents.first() else {
            continue;
        };
        let Ok(Some(tree)) = parse_embedded(&file.text, document.segment) else {
            continue;
        };
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", &path));
        let mut place = path_parameters(folder);
        place.insert("path.filename".to_owned(), name.to_owned());
        place.insert("path.filenameNormalized".to_owned(), normalized(name));
        let place = Rc::new(place);
        let root = tree.root();
        let object = root.filter(|root| root.is_mapping());
        let objects = root.into_iter().flat_map(NodeRef::items).chain(object);
        let left = most.saturating_sub(found.len());
        let objects = objects.take(left);
        found.extend(objects.map(|object| vec![values_of(object).into(), Rc::clone(&place)]));
    }
    found
}

/// Returns parameters with the `values` of a `git` generator, and with its prefix of the names of paths.
fn completed(parameters: Parameters, git: NodeRef<'_>) -> Parameters {
    let prefix = git.get("pathParamPrefix").and_then(NodeRef::text);
    let mut all = match prefix.filter(|prefix| !prefix.is_empty()) {
        None => parameters,
        Some(prefix) => parameters
            .into_iter()
            .map(|values| match values.contains_key("path.path") {
                false => values,
                true => {
                    let values = values.iter();
                    let named =
                        values.map(|(name, text)| (format!("{prefix}.{name}"), text.clone()));
                    Rc::new(named.collect())
                }
            })
            .collect(),
    };
    if let Some(values) = git.get("values") {
        let mut room = Some(MOST_TEXT);
        let values = values_of(values).into_iter();
        let values: Values = values
            .map(|(name, text)| (format!("values.{name}"), filled(&text, &all, &mut room)))
            .collect();
        all.push(values.into());
    }
    all
}

fn normalized(name: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    name.chars().map(plain).collect()
}

fn path_parameters(folder: &str) -> Values {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let mut found = Values::new();
    // With and without `goTemplate`.
    for key in ["path", "path.path"] {
        found.insert(key.to_owned(), folder.to_owned());
    }
    found.insert("path.basename".to_owned(), name.to_owned());
    found.insert("path.basenameNormalized".to_owned(), normalized(name));
    for (at, part) in folder.split('/').enumerate() {
        found.insert(format!("path[{at}]"), part.to_owned());
    }
    found
}

/// Fills in values; returns `false` if they exceed `room` bytes.
fn fill(node: &mut Node, parameters: &Parameters, room: usize) -> bool {
    let mut room = Some(room);
    node.change_leaves(&|leaf| leaf.text.contains("{{"), &mut |node| {
        if let Value::Leaf(leaf) = &mut node.value {
            leaf.text = filled(&leaf.text, parameters, &mut room).into();
        }
    });
    room.is_some()
}

/// Fills in `{{name}}` and `{{ .name }}`; keeps anything else between braces. Omits a value for which
/// `room` is too small, and sets `room` to `None`.
fn filled(text: &str, parameters: &Parameters, room: &mut Option<usize>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        let name = inside.trim();
        let name = name.strip_prefix('.').unwrap_or(name);
        match parameters.iter().rev().find_map(|values| values.get(name)) {
            Some(value) => {
                *room = room.and_then(|room| room.checked_sub(value.len()));
                out.push_str(if room.is_some() { value } else { "" });
            }
            None => {
                out.push_str("{{");
                out.push_str(inside);
                out.push_str("}}");
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}
