//! Walks from a kustomization to everything that it takes in.
//!
//! Follows `accumulateTarget` of kustomize 5.8.2 (`api/internal/target/kusttarget.go`):
//! resources in order, then components, which work on all that is there, then the
//! transformations. Where kustomize would stop with an error, the rest is done and a note says so.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::source::{SourceFile, SourceSet, patch_files};
use crate::yaml::{NodeRef, Span};

use super::super::complete::has_complete;
use super::super::deployment::Dialect;
use super::budget::{self, Budget};
use super::kustomization::Kustomization;
use super::limit::{DEPTH, Limit, STEPS};
use super::locate::{self, Located, locate, strings};
use super::node::{Node, Origin};
use super::not_followed;
use super::objects;
use super::resource::Resource;
use super::transform;
use super::{DocumentId, Note, ObjectId, Scope};

/// What each kustomization may cost in any case.
const ENOUGH: usize = 200_000;
/// What it costs to open a kustomization.
const OPENING: usize = 1_000;

/// What a kustomization stands for so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) resources: Vec<Resource>,
    pub(super) used: BTreeSet<DocumentId>,
    /// The patch files that are named, among those with objects that could be deployed as they are written.
    pub(super) patches: BTreeSet<Arc<str>>,
    /// The documents of these files that are applied to objects: the file, a byte of the document, and the object.
    pub(super) applied: BTreeSet<(Arc<str>, usize, ObjectId)>,
    pub(super) notes: BTreeSet<Note>,
    /// Objects come in that are not seen: a patch without target may be for one of them.
    pub(super) is_open: bool,
    /// The limit because of which objects are left out.
    pub(super) left_out: Option<Limit>,
    /// How many objects may come in: as many pods would exceed the memory limit.
    most: usize,
    /// Of the objects; `None` where a change may have made others of them.
    known: Option<Known>,
}

/// Tells which objects are there already.
#[derive(Clone, Debug, Default)]
struct Known {
    hasher: DefaultHashBuilder,
    /// Their places among the objects, by what identifies them.
    places: HashTable<usize>,
}

impl Known {
    fn of(resources: &[Resource]) -> Self {
        let mut known = Self::default();
        for (at, resource) in resources.iter().enumerate() {
            known.is_new(resource, resources.get(..at).unwrap_or_default());
        }
        known
    }

    /// Tells whether `resource` is new beside `others`, in whose place behind them it is then known.
    fn is_new(&mut self, resource: &Resource, others: &[Resource]) -> bool {
        let identity = |at: &usize| others.get(*at).map(Resource::identity);
        let own = Some(resource.identity());
        let found = self.places.entry(
            self.hasher.hash_one(own),
            |at| identity(at) == own,
            |at| self.hasher.hash_one(identity(at)),
        );
        match found {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(others.len());
                true
            }
        }
    }
}

/// Something that kustomize would refuse, without its place.
pub(super) fn note(k: &Kustomization<'_>, span: Span, message: String, scope: Scope) -> Note {
    let place = k.origin(span);
    Note {
        path: place.path,
        span: place.span,
        message,
        scope,
        touched: Vec::new(),
        copied: Vec::new(),
    }
}

impl Gathered {
    /// Takes an object in, unless there is one with the same identity.
    pub(super) fn add(&mut self, k: &Kustomization<'_>, at: Span, resource: Resource) {
        self.used.insert(resource.document());
        let others = &self.resources;
        let known = self.known.get_or_insert_with(|| Known::of(others));
        let message = if others.len() >= self.most {
            return self.leave_out(Limit::Memory);
        } else if known.is_new(&resource, others) {
            self.resources.push(resource);
            return;
        } else {
            let name = resource.name();
            let title = format!("{}/{}", name.kind, name.name);
            format!("{title} comes in twice: kustomize refuses to build it")
        };
        let scope = Scope::Objects(vec![resource.id()]);
        self.notes.insert(note(k, at, message, scope));
    }

    fn take_in(&mut self, k: &Kustomization<'_>, at: Span, other: &Self) {
        for resource in &other.resources {
            self.add(k, at, resource.clone());
        }
        self.used.extend(other.used.iter().cloned());
        self.patches.extend(other.patches.iter().cloned());
        self.applied.extend(other.applied.iter().cloned());
        self.notes.extend(other.notes.iter().cloned());
        self.is_open |= other.is_open;
        self.left_out = self.left_out.or(other.left_out);
    }

    /// Remembers the patch files of a kustomization that contain objects which could be deployed as they are written.
    fn name_patches(&mut self, sources: &SourceSet, k: &Kustomization<'_>) {
        for name in patch_files(k.root) {
            let file = locate::file(sources, k.folder, name);
            let mut documents = file.into_iter().flat_map(|file| &file.documents);
            if let Some(found) = documents.find(|one| one.patch && has_complete(one)) {
                self.patches.insert(Arc::clone(&found.path));
            }
        }
    }

    /// Records that a patch is applied to objects, if its file is one of those that are named.
    pub(super) fn note_applied(&mut self, patch: &Node, objects: Vec<ObjectId>) {
        let Origin { path, span } = &patch.origin;
        if self.patches.contains(path) {
            let applied = objects.into_iter();
            self.applied
                .extend(applied.map(|object| (Arc::clone(path), span.start, object)));
        }
    }

    /// Returns the documents of patch files that are applied to objects which are still there: the file, and a byte of the
    /// document.
    pub(super) fn applied_patches(&self) -> BTreeSet<(Arc<str>, usize)> {
        if self.applied.is_empty() {
            return BTreeSet::new();
        }
        let left: BTreeSet<ObjectId> = self.resources.iter().map(Resource::id).collect();
        let applied = self.applied.iter();
        applied
            .filter(|(_, _, object)| left.contains(object))
            .map(|(path, at, _)| (Arc::clone(path), *at))
            .collect()
    }

    /// Drops all objects, because they would exceed a limit.
    pub(super) fn leave_out(&mut self, limit: Limit) {
        self.resources = Vec::new();
        self.known = None;
        self.is_open = true;
        self.left_out = self.left_out.or(Some(limit));
        self.most = 0;
    }

    /// Says that something of `k` at `at` concerns all objects.
    pub(super) fn tell(&mut self, k: &Kustomization<'_>, at: Span, message: impl Into<String>) {
        self.notes.insert(note(k, at, message.into(), Scope::All));
    }

    /// Notes that what is reported at `at` may change all objects that are there so far.
    pub(super) fn doubt_told(&mut self, k: &Kustomization<'_>, at: Span) {
        let all = self.ids_of(|_| true);
        self.touch(k, at, &all);
    }

    /// Returns the objects that are there so far and that are meant.
    pub(super) fn ids_of(&self, is_meant: impl Fn(&Resource) -> bool) -> Vec<ObjectId> {
        let meant = self.resources.iter().filter(|one| is_meant(one));
        meant.map(Resource::id).collect()
    }

    /// Says that what is said of `at` may change the pods of these objects.
    pub(super) fn touch(&mut self, k: &Kustomization<'_>, at: Span, all: &[ObjectId]) {
        let place = k.origin(at);
        let notes = std::mem::take(&mut self.notes).into_iter();
        self.notes = notes
            .map(|note| match (&note.path, note.span) {
                (path, span) if *path == place.path && span == place.span => Note {
                    touched: all.to_vec(),
                    ..note
                },
                _ => note,
            })
            .collect();
    }

    /// Says that objects are not seen.
    pub(super) fn miss(&mut self, k: &Kustomization<'_>, at: Span, message: impl Into<String>) {
        self.is_open = true;
        self.tell(k, at, message);
    }
}

/// Renders kustomizations, each once.
pub(super) struct Gatherer<'s> {
    sources: &'s SourceSet,
    done: HashMap<Arc<str>, Arc<Gathered>>,
    /// The kustomizations that are being gathered, the outermost first.
    open: Vec<Arc<str>>,
    work: usize,
    budget: Arc<Budget>,
}

impl<'s> Gatherer<'s> {
    pub(super) fn new(sources: &'s SourceSet, budget: Arc<Budget>) -> Self {
        Self {
            sources,
            done: HashMap::new(),
            open: Vec::new(),
            work: STEPS,
            budget,
        }
    }

    /// Returns the memory that renderings may hold.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns a gatherer for `size` kustomizations of `all`, which may cost their share of what all
    /// may cost, and always enough for what people write: how much a group may cost must not
    /// depend on which thread is faster.
    pub(super) fn for_share(
        sources: &'s SourceSet,
        budget: Arc<Budget>,
        size: usize,
        all: usize,
    ) -> Self {
        let share = STEPS / all.max(1) * size;
        Self {
            work: share.max(ENOUGH.saturating_mul(size)).min(STEPS),
            ..Self::new(sources, budget)
        }
    }

    /// Takes over what another one has rendered.
    pub(super) fn take_over(&mut self, other: Self) {
        self.done.extend(other.done);
    }

    /// Gives the memory back on all threads.
    pub(super) fn clear(self) {
        let done: Vec<Arc<Gathered>> = self.done.into_values().collect();
        done.into_par_iter().for_each(drop);
    }

    /// Renders the kustomization of this file.
    pub(super) fn root(&mut self, path: &Arc<str>) -> Arc<Gathered> {
        let file = self.sources.file(path);
        match file.and_then(Kustomization::new) {
            Some(k) if k.is_component() => {
                let mut gathered = Gathered::default();
                gathered.name_patches(self.sources, &k);
                let message = "no kustomization uses this component: it is not rendered";
                gathered.tell(&k, Span::empty(k.root.span().start), message);
                Arc::new(gathered)
            }
            Some(k) => self.kustomization(&k),
            None => {
                let mut gathered = Gathered::default();
                gathered.notes.insert(Note {
                    path: Arc::clone(path),
                    span: Span::default(),
                    message: "the kustomization cannot be read".to_owned(),
                    scope: Scope::All,
                    touched: Vec::new(),
                    copied: Vec::new(),
                });
                Arc::new(gathered)
            }
        }
    }

    fn empty(&self) -> Gathered {
        Gathered {
            most: self.budget.limit() / budget::POD,
            ..Gathered::default()
        }
    }

    fn kustomization(&mut self, k: &Kustomization<'s>) -> Arc<Gathered> {
        if let Some(done) = self.done.get(k.path) {
            return Arc::clone(done);
        }
        let mut gathered = self.empty();
        self.fill(&[*k], &[], &mut gathered);
        if !self.budget.hold(budget::of_resources(&gathered.resources)) {
            gathered.leave_out(Limit::Memory);
        }
        let gathered = Arc::new(gathered);
        self.done.insert(Arc::clone(k.path), Arc::clone(&gathered));
        gathered
    }

    /// Renders a kustomization that a deploying object names and does not change.
    pub(super) fn deployed_as_it_is(&mut self, file: &'s SourceFile) -> Gathered {
        let k = Kustomization::new(file);
        let gathered = k.map(|k| self.kustomization(&k));
        gathered.map_or_else(Gathered::default, |gathered| (*gathered).clone())
    }

    /// Renders what a deploying object makes of a folder: `file` is the kustomization there, which
    /// `edit` is written into; without one, all of `entries` comes in.
    pub(super) fn deployed(
        &mut self,
        file: Option<&'s SourceFile>,
        edit: &Kustomization<'_>,
        entries: &[Located<'s>],
    ) -> Gathered {
        let mut gathered = self.empty();
        match file.and_then(Kustomization::new) {
            Some(k) => self.fill(&[k, *edit], entries, &mut gathered),
            None => self.fill(&[*edit], entries, &mut gathered),
        }
        gathered
    }

    /// Does what the kustomization says to what is gathered already. Layers after the first are
    /// written into it by what deploys it.
    fn fill(
        &mut self,
        layers: &[Kustomization<'_>],
        entries: &[Located<'s>],
        gathered: &mut Gathered,
    ) {
        let Some(k) = layers.first().filter(|_| !self.budget.is_over()) else {
            return;
        };
        let Some(left) = self.work.checked_sub(OPENING + entries.len()) else {
            return gathered.leave_out(Limit::Steps);
        };
        self.work = left;
        self.open.push(Arc::clone(k.path));
        self.resources(k, entries, gathered);
        let mut changing = Vec::new();
        for k in layers {
            for unknown in k.unknown() {
                gathered.tell(k, unknown.span, unknown.message);
                gathered.is_open |= unknown.is_open;
                if unknown.changes_all {
                    changing.push((*k, unknown.span));
                }
            }
        }
        for k in layers {
            for (entry, node) in strings(k.root, "components") {
                self.component(k, entry, node, gathered);
            }
        }
        // The transformations change the objects of components, too.
        for (k, at) in changing {
            gathered.doubt_told(&k, at);
        }
        for k in layers.iter().filter(|k| k.dialect == Dialect::Kustomize) {
            gathered.name_patches(self.sources, k);
            not_followed::tell(self.sources, k, gathered);
        }
        transform::apply(self.sources, layers, gathered, &mut self.work);
        for resource in &mut gathered.resources {
            resource.clear_annotations();
        }
        gathered.known = None;
        self.open.pop();
    }

    fn resources(
        &mut self,
        k: &Kustomization<'_>,
        entries: &[Located<'s>],
        gathered: &mut Gathered,
    ) {
        if k.dialect == Dialect::Kustomize {
            for (entry, node) in ["resources", "bases"]
                .into_iter()
                .flat_map(|key| strings(k.root, key))
            {
                let located = locate(self.sources, k.folder, entry);
                self.resource(k, entry, node.span(), located, gathered);
            }
        }
        for located in entries {
            let at = Span::empty(k.root.span().start);
            self.resource(k, "", at, *located, gathered);
        }
    }

    fn resource(
        &mut self,
        k: &Kustomization<'_>,
        entry: &str,
        at: Span,
        located: Located<'s>,
        gathered: &mut Gathered,
    ) {
        match located {
            Located::File(file) => objects::take_in(k, at, file, gathered),
            Located::Kustomization(file) => {
                let Some(base) = self.enter(k, at, file, gathered) else {
                    return;
                };
                if base.is_component() {
                    gathered.miss(
                        k,
                        at,
                        "a component is listed under `resources`: kustomize refuses to build it",
                    );
                    return;
                }
                let base = self.kustomization(&base);
                gathered.take_in(k, at, &base);
            }
            other => absent(k, at, entry, other, gathered),
        }
    }

    fn component(
        &mut self,
        k: &Kustomization<'_>,
        entry: &str,
        node: NodeRef<'_>,
        gathered: &mut Gathered,
    ) {
        let at = node.span();
        match locate(self.sources, k.folder, entry) {
            Located::Kustomization(file) => {
                let Some(component) = self.enter(k, at, file, gathered) else {
                    gathered.doubt_told(k, at);
                    return;
                };
                if component.is_component() {
                    self.fill(&[component], &[], gathered);
                } else {
                    gathered.miss(
                        k,
                        at,
                        "this entry of `components` is not a component: kustomize refuses to build it",
                    );
                }
            }
            Located::File(_) => gathered.miss(k, at, "a component is a folder, not a file"),
            other => {
                absent(k, at, entry, other, gathered);
                gathered.doubt_told(k, at);
            }
        }
    }

    /// Opens a kustomization from another one, unless that leads in a circle or too deep.
    fn enter(
        &self,
        k: &Kustomization<'_>,
        at: Span,
        file: &'s SourceFile,
        gathered: &mut Gathered,
    ) -> Option<Kustomization<'s>> {
        if self.open.contains(&file.path) {
            gathered.miss(k, at, "the kustomizations list each other in a circle");
            return None;
        }
        if self.open.len() >= DEPTH && !self.done.contains_key(&file.path) {
            gathered.leave_out(Limit::Depth);
            return None;
        }
        let inner = Kustomization::new(file);
        if inner.is_none() {
            let message = format!("the kustomization `{}` cannot be read", file.path);
            gathered.miss(k, at, message);
        }
        inner
    }
}

/// Says why an entry stands for nothing.
fn absent(
    k: &Kustomization<'_>,
    at: Span,
    entry: &str,
    located: Located<'_>,
    gathered: &mut Gathered,
) {
    let message = match located {
        Located::Remote => format!("`{entry}` is remote and not fetched: its objects are not seen"),
        Located::Folder => {
            format!("`{entry}` is a folder without a kustomization: kustomize refuses to build it")
        }
        _ => format!("`{entry}` is not among the files read: its objects are not seen"),
    };
    gathered.miss(k, at, message);
}
