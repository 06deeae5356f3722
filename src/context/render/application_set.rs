//! The Applications that an Argo CD ApplicationSet makes, as far as the tree shows them.
//!
//! Followed are the generators `list`, `git.directories` over the tree, and `matrix` of two of
//! them. What they do not fill in stays a placeholder.
//! Source: Argo CD, `argoproj.io/v1alpha1` ApplicationSet.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use hashbrown::HashMap;

use crate::kube::Object;
use crate::source::{SourceSet, place};
use crate::yaml::{NodeRef, Route};

use super::budget::{self, Budget};
use super::copy::read;
use super::node::{Node, Origin, Value};
use super::{Limit, RenderedDocument, Rendering, write};

/// Values by the names of their placeholders.
type Values = BTreeMap<String, String>;

/// The values of one Application: later ones win. Applications of a matrix share them.
type Parameters = Vec<Rc<Values>>;

/// The folders of the tree, for the generators that go through them.
struct Folders<'s> {
    sources: &'s SourceSet,
    /// Those of a repository, as seen from its root; by that root as shown.
    by_root: RefCell<HashMap<Arc<str>, Rc<BTreeSet<String>>>>,
}

impl<'s> Folders<'s> {
    fn of(sources: &'s SourceSet) -> Self {
        Self {
            sources,
            by_root: RefCell::default(),
        }
    }

    /// Returns the folders of the repository that `file` lies in.
    fn around(&self, file: &str) -> Rc<BTreeSet<String>> {
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
        let mut before = None;
        for file in &self.sources.files {
            // Files are sorted: most lie beside the one before.
            let folder = place::folder(&file.path);
            if before == Some(folder) {
                continue;
            }
            before = Some(folder);
            let Some(path) = self.sources.seen_from(root, &file.path) else {
                continue;
            };
            let ends = path.match_indices('/').map(|(at, _)| at);
            folders.extend(ends.filter_map(|end| Some(path.get(..end)?.to_owned())));
        }
        folders
    }
}

/// What sets make, each worked out once: deploying objects are gone through several times.
pub(super) struct Sets<'s> {
    folders: Folders<'s>,
    budget: &'s Budget,
    /// By the bytes of each set; with its text, so that no other text takes its place.
    known: HashMap<Place, (Arc<str>, Option<Arc<Rendering>>)>,
}

/// The address of a text, where its document starts in it, and the number of the object there.
type Place = (*const u8, usize, u32);

impl<'s> Sets<'s> {
    pub(super) fn of(sources: &'s SourceSet, budget: &'s Budget) -> Self {
        Self {
            folders: Folders::of(sources),
            budget,
            known: HashMap::new(),
        }
    }

    /// Returns one rendering for each set among `objects`.
    pub(super) fn expand(&mut self, objects: &[Object<'_>]) -> Vec<Arc<Rendering>> {
        let sets = objects
            .iter()
            .filter(|object| (object.group(), object.kind) == ("argoproj.io", "ApplicationSet"));
        sets.filter_map(|set| self.rendering(set)).collect()
    }

    fn rendering(&mut self, set: &Object<'_>) -> Option<Arc<Rendering>> {
        let tree = set.node.tree();
        let place = (tree.text().as_ptr(), tree.segment().start, set.node.id());
        let (_, made) = self.known.entry(place).or_insert_with(|| {
            let made = of_set(&self.folders, self.budget, set).map(Arc::new);
            (Arc::clone(tree.text()), made)
        });
        made.clone()
    }
}

fn of_set(folders: &Folders<'_>, budget: &Budget, set: &Object<'_>) -> Option<Rendering> {
    let place = |span| {
        let label = set.label_at(span, "");
        Origin {
            path: label.path,
            span: label.span,
        }
    };
    let spec = set.node.get("spec")?;
    let template = read(spec.get("template")?, &place).ok()?.node;
    let base = application(&template, &place(set.name_span()));
    let generators = spec.get("generators")?.items();
    // More than that do not fit into the memory limit.
    let most = budget.left() / budget::OTHER + 1;
    let mut each: Vec<Parameters> = Vec::new();
    for generator in generators {
        each.extend(parameters(folders, set, generator, most, true));
        each.truncate(most);
    }
    let mut documents = Vec::new();
    let mut held = 0;
    let mut left_out = (each.len() == most).then_some(Limit::Memory);
    for parameters in &each {
        let mut application = base.clone();
        if !fill(&mut application, parameters, budget.left()) {
            left_out = Some(Limit::Memory);
            break;
        }
        let Some((document, origin)) = write::document(&application, set.document) else {
            continue;
        };
        let size = budget::of_document(&document, &origin, false);
        if !budget.hold(size) {
            left_out = Some(Limit::Memory);
            break;
        }
        held += size;
        documents.push(RenderedDocument {
            document,
            item: Route::root(),
            origin,
            may_deploy: true,
            runs_pods: false,
        });
    }
    Some(Rendering {
        root: Arc::clone(set.path()),
        deployed: None,
        documents,
        used: BTreeSet::new(),
        patches: BTreeSet::new(),
        applied: BTreeSet::new(),
        notes: Vec::new(),
        is_open: left_out.is_some(),
        left_out,
        held,
    })
}

/// The Application before anything is filled in.
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

/// Returns the sets of values that a generator makes, `most` of them; one empty set where it is not followed.
fn parameters(
    folders: &Folders<'_>,
    set: &Object<'_>,
    generator: NodeRef<'_>,
    most: usize,
    may_nest: bool,
) -> Vec<Parameters> {
    if let Some(elements) = generator.get("list").and_then(|list| list.get("elements")) {
        let elements = elements.items().take(most);
        return elements.map(|one| vec![values_of(one).into()]).collect();
    }
    if let Some(listed) = generator.get("git").and_then(|git| git.get("directories")) {
        return directories(&folders.around(set.path()), listed, most);
    }
    let nested = generator
        .get("matrix")
        .and_then(|one| one.get("generators"));
    let Some(nested) = nested.filter(|_| may_nest) else {
        return vec![Parameters::new()];
    };
    let mut product = vec![Parameters::new()];
    for inner in nested.items().take(2) {
        let more = parameters(folders, set, inner, most, false);
        let pairs = product.iter().flat_map(|one| {
            more.iter().map(|other| {
                let mut both = one.clone();
                both.extend(other.iter().cloned());
                both
            })
        });
        product = pairs.take(most).collect();
    }
    product
}

/// Returns the single values of a mapping; those of mappings in it are called `outer.inner`.
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

/// Returns the folders of the tree that one of the globs matches and none excludes, `most` of them.
fn directories(folders: &BTreeSet<String>, listed: NodeRef<'_>, most: usize) -> Vec<Parameters> {
    let (mut wanted, mut left_out): (Vec<GlobMatcher>, Vec<GlobMatcher>) = (Vec::new(), Vec::new());
    for item in listed.items() {
        let path = item.get("path").and_then(NodeRef::text).unwrap_or_default();
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let glob = GlobBuilder::new(path).literal_separator(true).build();
        let Ok(glob) = glob else { continue };
        let is_left_out = item.get("exclude").and_then(NodeRef::text) == Some("true");
        let list = if is_left_out {
            &mut left_out
        } else {
            &mut wanted
        };
        list.push(glob.compile_matcher());
    }
    let is_match = |globs: &[GlobMatcher], folder: &str| globs.iter().any(|g| g.is_match(folder));
    let found = folders
        .iter()
        .filter(|folder| is_match(&wanted, folder) && !is_match(&left_out, folder))
        .take(most);
    found
        .map(|folder| vec![path_parameters(folder).into()])
        .collect()
}

fn path_parameters(folder: &str) -> Values {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let plain: String = name
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
    found.insert("path.basenameNormalized".to_owned(), plain);
    for (at, part) in folder.split('/').enumerate() {
        found.insert(format!("path[{at}]"), part.to_owned());
    }
    found
}

/// Fills in values; `false` where they come to more than `room` bytes.
fn fill(node: &mut Node, parameters: &Parameters, room: usize) -> bool {
    let mut room = Some(room);
    node.change_leaves(&|leaf| leaf.text.contains("{{"), &mut |node| {
        if let Value::Leaf(leaf) = &mut node.value {
            leaf.text = filled(&leaf.text, parameters, &mut room).into();
        }
    });
    room.is_some()
}

/// Fills in `{{name}}` and `{{ .name }}`; anything else between braces stays. A value that `room` is too small for is
/// left out.
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
