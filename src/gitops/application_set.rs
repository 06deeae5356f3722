//! Applications that an Argo CD ApplicationSet generates, as far as the tree contains the data.
//!
//! Supports the generators `list`, `git.directories` for folders of the tree, and `matrix` of two of
//! them. Values that they do not fill in remain placeholders.
//! Source: Argo CD, `argoproj.io/v1alpha1` ApplicationSet.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use hashbrown::HashMap;

use crate::gitops::named_source::SourceName;
use crate::gitops::repositories::{Repositories, SourcePlace};
use crate::kube::Object;
use crate::source::{SourceSet, paths};
use crate::yaml::{FieldPath, NodeRef};

use crate::kustomize::budget::{self, Budget};
use crate::kustomize::copy::read;
use crate::kustomize::leaf::Origin;
use crate::kustomize::node::{Node, Value};
use crate::kustomize::{Limit, RenderedDocument, Rendering, write};

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
    budget: &'s Budget,
    /// By the location of each set; with its text, so that no other text gets the same address.
    cached: HashMap<SetAddress, (Arc<str>, Option<Arc<Rendering>>)>,
}

/// Address of a text, offset of the document in it, and id of the object's node.
type SetAddress = (*const u8, usize, u32);

impl<'s> Sets<'s> {
    pub(crate) fn of(sources: &'s SourceSet, budget: &'s Budget) -> Self {
        Self {
            folders: Folders::of(sources),
            budget,
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
            let rendering = render_set(&self.folders, repositories, self.budget, set).map(Arc::new);
            (Arc::clone(tree.text()), rendering)
        });
        rendering.clone()
    }
}

fn render_set<'t>(
    folders: &Folders<'_>,
    repositories: &Repositories<'t>,
    budget: &Budget,
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
    let template = read(spec.get("template")?, &origin).ok()?.node;
    let base = application(&template, &origin(set.name_span()));
    let generators = spec.get("generators")?.items();
    // More Applications exceed the memory limit.
    let most = budget.left() / budget::OTHER + 1;
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
    let mut left_out = (all.len() == most).then_some(Limit::Memory);
    for parameters in &all {
        let mut application = base.clone();
        if !fill(&mut application, parameters, budget.left()) {
            left_out = Some(Limit::Memory);
            break;
        }
        let Some((document, origin)) = write::document(&application, set.document) else {
            continue;
        };
        let size = budget::of_document(&document, &origin, false);
        if !budget.reserve(size) {
            left_out = Some(Limit::Memory);
            break;
        }
        held += size;
        documents.push(RenderedDocument {
            document,
            item: FieldPath::root(),
            origin,
            may_deploy: true,
            runs_pods: false,
        });
    }
    Some(Rendering {
        root: Arc::clone(set.path()),
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

/// Returns the sets of values that a generator yields, `most` at the maximum; one empty set if the generator
/// is not supported. `is_here` returns whether a `git` generator reads the repository of the set.
fn parameters<'t>(
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
    let git = generator.get("git").filter(|git| is_here(*git));
    if let Some(listed) = git.and_then(|git| git.get("directories")) {
        return directories(&folders.in_repository_of(set.path()), listed, most);
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

/// Returns the scalars of a mapping; those of nested mappings have the name `outer.inner`.
fn values_of(element: NodeRef<'_>) -> Values {
    let mut found = Values::new();
    for entry in element.entries() {
        let Some(key) = entry.key.text() else {
            continue;
        };
        if let Some(text) = entry.value.text() {
            found.insert(key.to_owned(), text.to_owned());
        }
        for inner in entry.value.entries() {
            if let (Some(name), Some(text)) = (inner.key.text(), inner.value.text()) {
                found.insert(format!("{key}.{name}"), text.to_owned());
            }
        }
    }
    found
}

/// Returns the folders that a glob matches and no glob excludes, `most` at the maximum.
fn directories(folders: &BTreeSet<String>, listed: NodeRef<'_>, most: usize) -> Vec<Parameters> {
    let (mut included, mut excluded): (Vec<GlobMatcher>, Vec<GlobMatcher>) =
        (Vec::new(), Vec::new());
    for item in listed.items() {
        let path = item.get("path").and_then(NodeRef::text).unwrap_or_default();
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let glob = GlobBuilder::new(path).literal_separator(true).build();
        let Ok(glob) = glob else { continue };
        let is_excluded = item.get("exclude").and_then(NodeRef::text) == Some("true");
        let list = if is_excluded {
            &mut excluded
        } else {
            &mut included
        };
        list.push(glob.compile_matcher());
    }
    let is_match = |globs: &[GlobMatcher], folder: &str| globs.iter().any(|g| g.is_match(folder));
    folders
        .iter()
        .filter(|folder| is_match(&included, folder) && !is_match(&excluded, folder))
        .take(most)
        .map(|folder| vec![path_parameters(folder).into()])
        .collect()
}

fn path_parameters(folder: &str) -> Values {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let normalized: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let mut found = Values::new();
    // With and without `goTemplate`.
    for key in ["path", "path.path"] {
        found.insert(key.to_owned(), folder.to_owned());
    }
    found.insert("path.basename".to_owned(), name.to_owned());
    found.insert("path.basenameNormalized".to_owned(), normalized);
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
