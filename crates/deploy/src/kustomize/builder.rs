//! Collects everything that a kustomization includes.
//!
//! Follows `accumulateTarget` of kustomize 5.8.2 (`api/internal/target/kusttarget.go`): resources
//! in order, then generated objects, then components, which change all objects collected so far, then the transformations.
//! Where kustomize stops with an error, this module adds a note and continues.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::limits::{ALL_STEPS, NESTED_KUSTOMIZATIONS, STEPS, ValueCount};
use meshprobe_tree::source::{ListRole, Listed, SourceFile, SourceSet, listed, placeholder};
use meshprobe_yaml::{NodeRef, Span};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::kustomize::accumulator::{Accumulator, note_at};
use crate::kustomize::kustomization::Dialect;
use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::kustomization::REFUSED;
use crate::kustomize::limit::Limit;
use crate::kustomize::locate::{Located, absent_path, locate};
use crate::kustomize::node::{Node, Origin};
use crate::kustomize::objects::{is_broken, is_not_mapping};
use crate::kustomize::rendering::{Note, Scope};
use crate::kustomize::{
    generated, inline, objects, openapi, plugins, transform, unsupported, variables,
};

/// Steps to open a kustomization.
const OPENING: usize = 1_000;

/// Renderer of kustomizations, which renders each one once.
pub(crate) struct Builder<'s> {
    sources: &'s SourceSet,
    done: HashMap<Arc<str>, Arc<Accumulator>>,
    /// The kustomizations that are being rendered, the outermost first.
    open: Vec<Arc<str>>,
    work: usize,
    count: Arc<ValueCount>,
    /// What the kustomizations in `done` have added to `count`.
    added: usize,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(sources: &'s SourceSet, count: Arc<ValueCount>) -> Self {
        Self {
            sources,
            done: HashMap::new(),
            open: Vec::new(),
            work: ALL_STEPS,
            count,
            added: 0,
        }
    }

    /// Returns the count of the values of all renderings.
    pub(crate) fn count(&self) -> &ValueCount {
        &self.count
    }

    /// Returns what the kustomizations of this builder have added to the count, apart from their rendered objects.
    pub(crate) const fn added(&self) -> usize {
        self.added
    }

    /// Returns a builder for `size` kustomizations that may include each other.
    pub(crate) fn for_group(sources: &'s SourceSet, count: Arc<ValueCount>, size: usize) -> Self {
        Self {
            work: STEPS.saturating_mul(size).min(ALL_STEPS),
            ..Self::new(sources, count)
        }
    }

    /// Takes over the renderings of another builder.
    pub(crate) fn take_over(&mut self, other: Self) {
        self.done.extend(other.done);
    }

    /// Frees the memory, in parallel.
    pub(crate) fn clear(self) {
        let done: Vec<Arc<Accumulator>> = self.done.into_values().collect();
        done.into_par_iter().for_each(drop);
    }

    /// Renders the kustomization of this file.
    pub(crate) fn root(&mut self, path: &Arc<str>) -> Arc<Accumulator> {
        let file = self.sources.file(path);
        match file.and_then(Kustomization::new) {
            Some(k) if k.is_component() => {
                let mut accumulator = Accumulator::default();
                accumulator.record_patches(self.sources, &k);
                let message = "no kustomization uses this component: it is not rendered";
                accumulator.add_note(&k, Span::empty(k.root.span().start), message);
                Arc::new(accumulator)
            }
            Some(k) => self.kustomization(&k),
            None => {
                let mut accumulator = Accumulator::default();
                let message = match file.is_some_and(is_not_mapping) {
                    true => "the kustomization is not a mapping: kustomize refuses to build it",
                    // The findings about its text or its file name the fault.
                    false => "the kustomization cannot be read",
                };
                let place = Origin {
                    path: Arc::clone(path),
                    span: Span::default(),
                };
                accumulator.notes.insert(Note {
                    adds_unknown: true,
                    ..note_at(place, message.to_owned(), Scope::All)
                });
                Arc::new(accumulator)
            }
        }
    }

    fn kustomization(&mut self, k: &Kustomization<'s>) -> Arc<Accumulator> {
        if let Some(done) = self.done.get(k.path) {
            return Arc::clone(done);
        }
        let mut accumulator = Accumulator::default();
        self.fill(&[*k], &[], &mut accumulator);
        if self.count.add(accumulator.added) {
            self.added += accumulator.added;
        } else {
            accumulator.leave_out(Limit::All);
        }
        let accumulator = Arc::new(accumulator);
        self.done
            .insert(Arc::clone(k.path), Arc::clone(&accumulator));
        accumulator
    }

    /// Renders a kustomization that a deploying object names and does not change.
    pub(crate) fn deployed_as_it_is(&mut self, file: &'s SourceFile) -> Accumulator {
        let k = Kustomization::new(file);
        k.map(|k| self.kustomization(&k))
            .map_or_else(Accumulator::default, |accumulator| (*accumulator).clone())
    }

    /// Renders the folder of a deploying object. `file` is the kustomization of the folder, to which `edit` is
    /// added; without a kustomization, all of `entries` are included.
    pub(crate) fn deployed(
        &mut self,
        file: Option<&'s SourceFile>,
        edit: &Kustomization<'_>,
        entries: &[Located<'s>],
    ) -> Accumulator {
        let mut accumulator = Accumulator::default();
        match file.and_then(Kustomization::new) {
            Some(k) => self.fill(&[k, *edit], entries, &mut accumulator),
            None => self.fill(&[*edit], entries, &mut accumulator),
        }
        accumulator
    }

    /// Applies a kustomization to the objects collected so far. The first layer is the kustomization itself; further
    /// layers are the settings that a deploying object adds to it.
    fn fill(
        &mut self,
        layers: &[Kustomization<'_>],
        entries: &[Located<'s>],
        accumulator: &mut Accumulator,
    ) {
        let Some(k) = layers.first() else {
            return;
        };
        if self.count.is_exceeded() {
            return accumulator.leave_out(Limit::All);
        }
        let Some(left) = self.work.checked_sub(OPENING + entries.len()) else {
            return accumulator.leave_out(Limit::Steps);
        };
        self.work = left;
        self.open.push(Arc::clone(k.path));
        self.resources(k, entries, accumulator);
        if k.dialect == Dialect::Kustomize {
            generated::add_generated(self.sources, k, accumulator);
        }
        let mut missing = Vec::new();
        let mut changing = Vec::new();
        for k in layers {
            for (field, at) in missing_entries(self.sources, k, accumulator) {
                missing.push(field);
                changing.push((*k, at));
            }
        }
        let plugins = self.plugins(k, accumulator);
        if k.has_charts() {
            accumulator.has_unknown_objects = true;
            accumulator.options.insert(plugins::HELM);
        }
        for k in layers {
            let is_known = |key: &str| {
                let configs = plugins.get(key);
                missing.contains(&key) || configs.is_some_and(plugins::are_own)
            };
            for unknown in k.unknown(is_known) {
                accumulator.has_unknown_objects |= unknown.has_unknown_objects;
                if unknown.changes_all {
                    changing.push((*k, unknown.span));
                }
                if unknown.may_add_pods {
                    accumulator.note_generator(k, unknown);
                } else {
                    accumulator.note_setting(k, unknown);
                }
            }
        }
        for k in layers {
            for entry in k.listed(ListRole::Component) {
                self.component(k, entry.text, entry.node, accumulator);
            }
        }
        // The unknown changes also apply to objects of components.
        for (k, at) in changing {
            accumulator.mark_all_changed(&k, at);
        }
        for k in layers.iter().filter(|k| k.dialect == Dialect::Kustomize) {
            accumulator.record_patches(self.sources, k);
            let transformers = plugins.get("transformers");
            unsupported::add_notes(self.sources, k, (transformers, &missing), accumulator);
            let places = k.items("vars").map(NodeRef::span);
            accumulator.add_variables(k, places.zip(variables::variables(k)));
        }
        let merged = openapi::merged_objects(layers, accumulator);
        transform::apply(self.sources, layers, accumulator, &mut self.work);
        openapi::mark(merged, accumulator);
        for resource in &mut accumulator.resources {
            resource.clear_annotations();
        }
        accumulator.known = None;
        self.open.pop();
    }

    /// Reads the configurations of the plugins of a kustomization, by field, and records the options that they need.
    fn plugins(
        &mut self,
        k: &Kustomization<'_>,
        accumulator: &mut Accumulator,
    ) -> HashMap<&'static str, plugins::Configs> {
        let mut found: HashMap<&'static str, plugins::Configs> = HashMap::new();
        let entries = k.listed(ListRole::Plugin);
        for entry in entries.filter(|_| k.dialect == Dialect::Kustomize) {
            let config = self.plugin(k, entry.text, entry.node);
            found.entry(entry.field).or_default().push(config);
        }
        for configs in found.values() {
            accumulator.options.extend(plugins::options(configs));
        }
        found
    }

    /// Reads an entry of a field with plugins: a configuration, a file or a folder with a kustomization.
    fn plugin(
        &mut self,
        k: &Kustomization<'_>,
        entry: &str,
        node: NodeRef<'_>,
    ) -> Option<Vec<Node>> {
        if plugins::is_inline(entry) {
            return inline::from_scalar(node, k, false).ok();
        }
        match locate(self.sources, k.folder, entry) {
            Located::File(file) => inline::from_file(file).ok(),
            Located::Kustomization(file) => {
                let base = self.enter(k, node.span(), file, &mut Accumulator::default())?;
                let base = self.kustomization(&base);
                let is_complete = !base.has_unknown_objects && base.notes.is_empty();
                let objects = base.resources.iter();
                is_complete.then(|| objects.map(|object| object.body.clone()).collect())
            }
            _ => None,
        }
    }

    fn resources(
        &mut self,
        k: &Kustomization<'_>,
        entries: &[Located<'s>],
        accumulator: &mut Accumulator,
    ) {
        if k.dialect == Dialect::Kustomize {
            for Listed { node, text, .. } in k.listed(ListRole::Objects) {
                let located = locate(self.sources, k.folder, text);
                self.resource(k, text, node.span(), located, accumulator);
            }
        }
        for located in entries {
            let at = Span::empty(k.root.span().start);
            self.resource(k, "", at, *located, accumulator);
        }
    }

    fn resource(
        &mut self,
        k: &Kustomization<'_>,
        entry: &str,
        at: Span,
        located: Located<'s>,
        accumulator: &mut Accumulator,
    ) {
        match located {
            Located::File(file) => objects::include_file(k, at, file, accumulator),
            Located::Kustomization(file) => {
                let Some(base) = self.enter(k, at, file, accumulator) else {
                    return;
                };
                if base.is_component() {
                    accumulator.note_missing(
                        k,
                        at,
                        "a component is listed under `resources`: kustomize refuses to build it",
                    );
                    return;
                }
                let base = self.kustomization(&base);
                accumulator.include(k, at, &base);
            }
            other => {
                let path = absent_path(self.sources, k.folder, entry);
                absent(k, at, (entry, other), path, accumulator);
            }
        }
    }

    fn component(
        &mut self,
        k: &Kustomization<'_>,
        entry: &str,
        node: NodeRef<'_>,
        accumulator: &mut Accumulator,
    ) {
        let at = node.span();
        match locate(self.sources, k.folder, entry) {
            Located::Kustomization(file) => {
                let Some(component) = self.enter(k, at, file, accumulator) else {
                    accumulator.mark_all_changed(k, at);
                    return;
                };
                if component.is_component() {
                    self.fill(&[component], &[], accumulator);
                } else {
                    accumulator.note_missing(
                        k,
                        at,
                        "this entry of `components` is not a component: kustomize refuses to build it",
                    );
                }
            }
            Located::File(_) => {
                let message = "a component is a folder, not a file: kustomize refuses to build it";
                accumulator.note_missing(k, at, message);
            }
            other => {
                let path = match other {
                    Located::Missing => absent_component(self.sources, k, entry),
                    _ => None,
                };
                let is_ignored = k.dialect != Dialect::Kustomize
                    && k.root.get(IGNORE_MISSING).and_then(NodeRef::text) == Some("true");
                if is_ignored && path.is_some() {
                    return;
                }
                absent(k, at, (entry, other), path, accumulator);
                accumulator.mark_all_changed(k, at);
            }
        }
    }

    /// Opens a kustomization that another one includes. Adds a note and returns `None` for cycles, excessive depth and
    /// files that cannot be parsed.
    fn enter(
        &self,
        k: &Kustomization<'_>,
        at: Span,
        file: &'s SourceFile,
        accumulator: &mut Accumulator,
    ) -> Option<Kustomization<'s>> {
        if self.open.contains(&file.path) {
            let message =
                "the kustomizations include each other in a cycle: kustomize refuses to build it";
            accumulator.note_missing(k, at, message);
            return None;
        }
        if self.open.len() >= NESTED_KUSTOMIZATIONS && !self.done.contains_key(&file.path) {
            accumulator.leave_out(Limit::Depth);
            return None;
        }
        let inner = Kustomization::new(file);
        if inner.is_none() {
            // A template may be rendered before kustomize reads it.
            let consequence = match is_broken(file) {
                true => ": kustomize refuses to build it",
                false => "",
            };
            let message = format!(
                "the kustomization `{}` cannot be read{consequence}",
                file.path
            );
            accumulator.note_missing(k, at, message);
        }
        inner
    }
}

/// Adds notes about the entries of settings that do not exist, and returns them with the names of the settings.
fn missing_entries(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    accumulator: &mut Accumulator,
) -> Vec<(&'static str, Span)> {
    let mut found = Vec::new();
    for entry in listed(k.root).filter(|entry| entry.role.is_setting()) {
        let (text, at) = (entry.text, entry.node.span());
        if let Some(path) = absent_path(sources, k.folder, text) {
            let message = format!("`{text}` does not exist: {REFUSED}");
            accumulator.note_absent(k, at, message, path);
            found.push((entry.field, at));
        }
    }
    found
}

/// The field with which Flux and Argo CD omit components that do not exist.
/// Source: fluxcd/pkg of July 2026, `kustomize/kustomize_generator.go`; Argo CD, `docs/user-guide/kustomize.md`.
const IGNORE_MISSING: &str = "ignoreMissingComponents";

/// Returns the path of a component that does not exist. All files of the repository are read, so a component of a deploying
/// object does not exist if it is not among them.
fn absent_component(sources: &SourceSet, k: &Kustomization<'_>, entry: &str) -> Option<String> {
    let mut files = sources.files_in(k.folder);
    let is_deploying = k.dialect != Dialect::Kustomize && !placeholder::contains(entry);
    match is_deploying && files.any(|file| file.repository.is_some()) {
        true => Some(sources.joined(k.folder, entry)),
        false => absent_path(sources, k.folder, entry),
    }
}

/// Adds a note about an entry without known objects. `path` is its path if that does not exist.
fn absent(
    k: &Kustomization<'_>,
    at: Span,
    (entry, located): (&str, Located<'_>),
    path: Option<String>,
    accumulator: &mut Accumulator,
) {
    let message = match located {
        Located::Remote => format!("`{entry}` is remote and not fetched: its objects are unknown"),
        Located::Folder => {
            format!("`{entry}` is a folder without a kustomization: kustomize refuses to build it")
        }
        _ if path.is_some() => format!("`{entry}` does not exist: kustomize refuses to build it"),
        _ => format!("`{entry}` is not among the files read: its objects are unknown"),
    };
    accumulator.note_unknown(k, at, message, path);
}
