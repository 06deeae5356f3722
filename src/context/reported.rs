//! Decides which findings a run reports: those in the given files, and those about what these deploy or include.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};

use crate::context::environment_filter::EnvironmentFilter;
use crate::finding::Finding;
use crate::kube::Object;
use crate::kustomize::Rendering;
use crate::kustomize::closure::Closure;
use crate::source::{Role, SourceSet, is_kustomization};

/// Files and renderings outside of the given paths whose findings are reported, because given files deploy or include
/// them.
#[derive(Debug, Default)]
pub(super) struct Reported<'t> {
    /// Given files that identify an overlay: every finding with such an overlay is reported.
    overlays: BTreeSet<&'t str>,
    /// For each file, the overlays whose findings in it are reported; `None` if it is deployed without an overlay.
    files: HashMap<&'t str, HashSet<Option<&'t str>>>,
    /// The renderings whose findings are reported, as the path of the root and the path of the location file.
    renderings: HashSet<(&'t str, &'t str)>,
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
            finding.overlays.is_empty() || overlays.any(|overlay| known.contains(&Some(&**overlay)))
        })
    }

    /// Returns whether findings about an object are reported.
    pub(super) fn object(&self, sources: &SourceSet, object: &Object<'_>) -> bool {
        let known = || self.files.get(&**object.path());
        self.only.object(object)
            && (is_target(sources, object.path())
                || known().is_some_and(|known| known.contains(&object.overlay.map(|path| &**path))))
    }

    /// Returns whether findings about a rendering are reported.
    pub(super) fn rendering(&self, rendering: &Rendering) -> bool {
        let key = (&*rendering.root, &**rendering.location_file());
        self.renderings.contains(&key) && self.only.overlay(rendering.location_file())
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
        let overlay = object.overlay.map(|path| &**path);
        self.files.entry(object.path()).or_default().insert(overlay);
    }

    /// Adds a rendering that a given file deploys or includes, and its files. If its location file is given, all of its
    /// findings are reported.
    pub(super) fn add_rendering(&mut self, sources: &'t SourceSet, rendering: &'t Rendering) {
        let location = &**rendering.location_file();
        if is_target(sources, location) {
            self.overlays.insert(location);
        }
        self.add_files_of(sources, rendering, location);
    }

    /// Adds a rendering without its files.
    pub(super) fn add_given(&mut self, rendering: &'t Rendering) {
        let key = (&*rendering.root, &**rendering.location_file());
        self.renderings.insert(key);
    }

    /// Adds a rendering and its files, for findings with this overlay.
    pub(super) fn add_files_of(
        &mut self,
        sources: &'t SourceSet,
        rendering: &'t Rendering,
        overlay: &'t str,
    ) {
        self.add_given(rendering);
        let location = &**rendering.location_file();
        let root = sources.file(&rendering.root);
        let closure = root.filter(|root| is_kustomization(&root.path));
        let closure = closure.map(|root| Closure::of(sources, root));
        let used = rendering.used.iter().map(|(path, _)| &**path);
        let files = used.chain([&*rendering.root, location]);
        self.add_files(overlay, files.chain(closure.iter().flat_map(Closure::all)));
    }

    /// Adds files, for findings with this overlay.
    pub(super) fn add_files(&mut self, overlay: &'t str, files: impl Iterator<Item = &'t str>) {
        for file in files {
            self.files.entry(file).or_default().insert(Some(overlay));
        }
    }
}
