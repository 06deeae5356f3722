//! Finds what the given files deploy or include, directly and through other objects, and decides which findings are reported.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::gitops::deployment::Deployments;
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_deploy::kustomize::locate::Closure;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Object, RenderingId};
use meshprobe_tree::source::{Content, Role, SourceFile, SourceSet, is_kustomization};

use super::environment_filter::EnvironmentFilter;

/// An object of a run, before it is assigned to the files that deploy it.
#[derive(Debug)]
pub(super) struct FoundObject<'t> {
    pub(super) object: Object<'t>,
    /// Whether findings about it are reported.
    pub(super) is_target: bool,
    /// The index of the rendering that contains it; `None` if it comes from a file directly.
    pub(super) rendering: Option<usize>,
}

/// What the given files deploy or include, directly and through other objects.
#[derive(Debug, Default)]
pub(super) struct PulledIn<'t> {
    /// Decides which findings are reported.
    pub(super) reported: Reported<'t>,
    /// For each deployment, whether a given file causes it.
    pub(super) deployed: Vec<bool>,
}

/// Finds what the given files deploy or include. Marks the rendered objects among it as targets.
pub(super) fn pull_in<'t>(
    sources: &'t SourceSet,
    renderings: &'t [Rendering],
    objects: &mut [FoundObject<'t>],
    deployments: &Deployments<'t>,
) -> PulledIn<'t> {
    let is_given = |rendering: &Rendering| {
        is_target(sources, &rendering.id.root) || is_target(sources, rendering.declaring_file())
    };
    let mut search = Search {
        renderings,
        is_reported: renderings.iter().map(is_given).collect(),
        deployed: vec![false; deployments.all().len()],
        pulled: vec![false; objects.len()],
        objects,
        deployments,
    };
    search.run();
    let reported = search.reported(sources);
    PulledIn {
        reported,
        deployed: search.deployed,
    }
}

struct Search<'a, 't> {
    renderings: &'t [Rendering],
    /// For each rendering, whether a given file causes or contains it.
    is_reported: Vec<bool>,
    deployments: &'a Deployments<'t>,
    /// For each deployment, whether a given file causes it.
    deployed: Vec<bool>,
    objects: &'a mut [FoundObject<'t>],
    /// For each object, whether it deploys others and is in a folder that a given file deploys without changes.
    pulled: Vec<bool>,
}

impl<'t> Search<'_, 't> {
    /// Repeats the search until it adds nothing, because a deployed object can deploy others.
    fn run(&mut self) {
        loop {
            self.mark_objects();
            let mut is_settled = !self.mark_deployments();
            is_settled &= !self.mark_renderings();
            if is_settled {
                return;
            }
        }
    }

    /// Marks the objects of reported renderings as targets.
    fn mark_objects(&mut self) {
        for found in &mut *self.objects {
            let rendering = found
                .rendering
                .and_then(|index| self.is_reported.get(index));
            found.is_target |= rendering == Some(&true);
        }
    }

    /// Marks the deployments that are declared by targets, or by objects that marked deployments deploy. Also marks the
    /// Applications, ApplicationSets and Flux Kustomizations in their folders. Returns whether any mark is new.
    fn mark_deployments(&mut self) -> bool {
        let mut is_changed = false;
        for (deployment, deployed) in self.deployments.all().iter().zip(&mut self.deployed) {
            let at = deployment.position;
            let is_given = self.objects.get(at).is_some_and(|found| found.is_target)
                || self.pulled.get(at) == Some(&true);
            is_changed |= is_given && !*deployed;
            *deployed |= is_given;
        }
        if !is_changed {
            return false;
        }
        for (found, pulled) in self.objects.iter().zip(&mut self.pulled) {
            let kinds = ["Application", "ApplicationSet", "Kustomization"];
            *pulled |= kinds.contains(&found.object.kind)
                && self
                    .deployments
                    .deploying(found.object.location_file())
                    .any(|(index, _)| self.deployed.get(index) == Some(&true));
        }
        true
    }

    /// Marks the renderings of the marked deployments and ApplicationSets. Returns whether a new rendering was marked.
    fn mark_renderings(&mut self) -> bool {
        let given = self.deployments.all().iter().zip(&self.deployed);
        let given: HashSet<(&str, &str)> = given
            .filter(|(_, is_given)| **is_given)
            .map(|(deployment, _)| (&**deployment.object.path(), &*deployment.folder))
            .collect();
        let sets: HashSet<&str> = self
            .objects
            .iter()
            .zip(&self.pulled)
            .filter(|(found, pulled)| {
                found.object.kind == "ApplicationSet" && (found.is_target || **pulled)
            })
            .map(|(found, _)| &**found.object.path())
            .collect();
        let mut is_changed = false;
        for (rendering, is_reported) in self.renderings.iter().zip(&mut self.is_reported) {
            let is_given = match &rendering.deployed {
                Some(deployed) => given.contains(&(&*deployed.file, &*deployed.folder)),
                None => sets.contains(&*rendering.id.root),
            };
            is_changed |= is_given && !*is_reported;
            *is_reported |= is_given;
        }
        is_changed
    }

    /// Collects the files and renderings whose findings are reported.
    fn reported(&mut self, sources: &'t SourceSet) -> Reported<'t> {
        let mut reported = Reported::default();
        let given = self.renderings.iter().zip(&self.is_reported);
        let given = given.filter(|(_, is_reported)| **is_reported);
        if sources.files.iter().all(|file| file.role == Role::Target) {
            given.for_each(|(rendering, _)| reported.add_given(rendering));
            return reported;
        }
        given.for_each(|(rendering, _)| reported.add_rendering(sources, rendering));
        // The objects of a kustomization in a deployed folder are assigned to the deployment later.
        let own = self.renderings.iter();
        for rendering in own.filter(|rendering| rendering.deployed.is_none()) {
            for (index, deployment) in self.deployments.deploying(&rendering.id.root) {
                if self.deployed.get(index) == Some(&true) {
                    let overlays = [rendering.environment(), &deployment.environment];
                    for overlay in overlays {
                        reported.add_files_of(sources, rendering, overlay);
                    }
                }
            }
        }
        self.include_nested(sources, &mut reported);
        self.include_broken(sources, &mut reported);
        reported
    }

    /// Adds the files of deployed folders that cannot be read, which contain no objects.
    fn include_broken(&self, sources: &'t SourceSet, reported: &mut Reported<'t>) {
        let is_broken = |file: &&SourceFile| {
            let mut contents = file.documents.iter().map(|document| &document.content);
            file.fault.is_some()
                || contents.any(|content| matches!(content, Content::Broken { .. }))
        };
        for file in sources.files.iter().filter(is_broken) {
            for (index, deployment) in self.deployments.deploying(&file.path) {
                if self.deployed.get(index) == Some(&true) {
                    let files = std::iter::once(&*file.path);
                    reported.add_files(&deployment.environment, files);
                }
            }
        }
    }

    /// Adds the files of given kustomizations that have no rendering of their own, because other kustomizations include
    /// them.
    fn include_nested(&mut self, sources: &'t SourceSet, reported: &mut Reported<'t>) {
        let roots = self.renderings.iter().map(|rendering| &*rendering.id.root);
        let roots: HashSet<&str> = roots.collect();
        let nested: Vec<Closure<'t>> = sources
            .targets()
            .filter(|file| is_kustomization(&file.path) && !roots.contains(&*file.path))
            .map(|file| Closure::of(sources, file))
            .collect();
        if nested.is_empty() {
            return;
        }
        for (index, rendering) in self.renderings.iter().enumerate() {
            let root = sources.file(&rendering.id.root);
            let (Some(root), Some(false)) = (root, self.is_reported.get(index)) else {
                continue;
            };
            let outer = Closure::of(sources, root);
            let files: HashSet<&str> = nested
                .iter()
                .filter(|inner| inner.kustomizations.is_subset(&outer.kustomizations))
                .flat_map(Closure::all)
                .collect();
            if files.is_empty() {
                continue;
            }
            reported.add_files(rendering.environment(), files.iter().copied());
            let rendered = self.objects.iter_mut();
            for found in rendered.filter(|found| found.rendering == Some(index)) {
                found.is_target |= files.contains(&**found.object.path());
            }
        }
    }
}

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
