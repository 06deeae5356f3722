//! Decides which findings a run reports: those in the given files, and those about what these deploy or include.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_deploy::kustomize::locate::Closure;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Object, RenderingId};
use meshprobe_tree::source::{Role, SourceSet, is_kustomization};

use crate::context::environment_filter::EnvironmentFilter;

/// Files and renderings outside of the given paths whose findings are reported, because given files deploy or include
/// them.
#[derive(Debug, Default)]
pub(super) struct Reported<'t> {
    /// Given files that identify an overlay: every finding with such an overlay is reported.
    overlays: BTreeSet<&'t str>,
    /// For each file, the overlays whose findings in it are reported; `None` if it is deployed without an overlay.
    files: HashMap<&'t str, HashSet<Option<Arc<str>>>>,
    /// The renderings whose findings are reported.
    renderings: HashSet<&'t RenderingId>,
    /// The environments that the run is limited to.
    only: EnvironmentFilter<'t>,
}

/// Returns whether a file is among the given paths.
pub(in crate::context) fn is_target(sources: &SourceSet, path: &str) -> bool {
    sources
        .file(path)
        .is_some_and(|file| file.role == Role::Target)
}

impl<'t> Reported<'t> {
    /// Returns whether a finding is reported.
    pub(super) fn finding(&self, sources: &SourceSet, finding: &Finding) -> bool {
        if !self.only.finding(finding) {
            return false;
        }
        let path = &*finding.primary.path;
        // Other files, such as the configuration, belong to every run.
        if sources.file(path).is_none() || is_target(sources, path) {
            return true;
        }
        let mut overlays = finding.overlays.iter().map(|overlay| &**overlay);
        if overlays.any(|overlay| self.overlays.contains(overlay)) {
            return true;
        }
        self.files.get(path).is_some_and(|known| {
            let mut overlays = finding.overlays.iter();
            finding.overlays.is_empty()
                || overlays.any(|overlay| known.contains(&Some(Arc::clone(overlay))))
        })
    }

    /// Returns whether findings about an object are reported.
    pub(super) fn object(&self, sources: &SourceSet, object: &Object<'_>) -> bool {
        let known = || self.files.get(&**object.path());
        self.only.object(object)
            && (is_target(sources, object.path())
                || known().is_some_and(|known| known.contains(&object.overlay)))
    }

    /// Returns whether findings about a rendering are reported.
    pub(super) fn rendering(&self, rendering: &Rendering) -> bool {
        self.renderings.contains(&rendering.id) && self.only.overlay(rendering.environment())
    }

    /// Limits what is reported to some environments.
    pub(super) fn limit_to(&mut self, only: EnvironmentFilter<'t>) {
        self.only = only;
    }

    /// Returns the environments that the run is limited to.
    pub(super) fn only(&self) -> &EnvironmentFilter<'t> {
        &self.only
    }

    /// Adds the file of an object that a given file deploys, for findings with the overlay of the object.
    pub(super) fn add(&mut self, object: &Object<'t>) {
        let known = self.files.entry(object.path()).or_default();
        known.insert(object.overlay.clone());
    }

    /// Adds a rendering that a given file deploys or includes, and its files. If the file that declares it is given, all of
    /// its findings are reported.
    pub(super) fn add_rendering(&mut self, sources: &'t SourceSet, rendering: &'t Rendering) {
        let environment = rendering.environment();
        if is_target(sources, rendering.declaring_file()) {
            self.overlays.insert(environment);
        }
        self.add_files_of(sources, rendering, environment);
    }

    /// Adds a rendering without its files.
    pub(super) fn add_given(&mut self, rendering: &'t Rendering) {
        self.renderings.insert(&rendering.id);
    }

    /// Adds a rendering and its files, for findings with this overlay.
    pub(super) fn add_files_of(
        &mut self,
        sources: &'t SourceSet,
        rendering: &'t Rendering,
        overlay: &Arc<str>,
    ) {
        self.add_given(rendering);
        let root = sources.file(&rendering.id.root);
        let closure = root.filter(|root| is_kustomization(&root.path));
        let closure = closure.map(|root| Closure::of(sources, root));
        let used = rendering.used.iter().map(|(path, _)| &**path);
        let files = used.chain([&*rendering.id.root, &**rendering.declaring_file()]);
        self.add_files(overlay, files.chain(closure.iter().flat_map(Closure::all)));
    }

    /// Adds files, for findings with this overlay.
    pub(super) fn add_files(&mut self, overlay: &Arc<str>, files: impl Iterator<Item = &'t str>) {
        for file in files {
            let known = self.files.entry(file).or_default();
            known.insert(Some(Arc::clone(overlay)));
        }
    }
}
