//! The rendered overlays of a set of files, and what another state of the files saves of the work.

use std::sync::{Arc, OnceLock};

use meshprobe_deploy::gitops::{ChangedFiles, render_relevant_changed, render_relevant_groups};
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_deploy::kustomize::roots::{self, Group};
use meshprobe_tree::source::SourceSet;

/// The rendered overlays of a set of files, which do not depend on the settings. Several runs with the same files share them.
#[derive(Debug, Default)]
pub struct RenderedOverlays<'b> {
    own: OnceLock<Vec<Rendering>>,
    /// The bytes that rendering has reserved.
    in_use: OnceLock<usize>,
    /// The groups of the kustomizations.
    groups: OnceLock<Arc<Vec<Group>>>,
    /// Another state of the files, whose renderings are reused where nothing differs.
    before: Option<(&'b SourceSet, &'b RenderedOverlays<'b>)>,
}

impl<'b> RenderedOverlays<'b> {
    /// Creates the overlays of a set of files that shares equal files with another one.
    #[must_use]
    pub fn reusing(set: &'b SourceSet, rendered: &'b RenderedOverlays<'b>) -> Self {
        Self {
            before: Some((set, rendered)),
            ..Self::default()
        }
    }

    pub(super) fn of(&self, set: &SourceSet) -> &[Rendering] {
        self.own.get_or_init(|| {
            let before = self
                .before
                .and_then(|(files, rendered)| Some((files, rendered.own.get()?.as_slice())));
            let (own, in_use) = render_relevant_groups(set, &self.groups(set), before);
            let _ = self.in_use.set(in_use);
            own
        })
    }

    /// Returns the bytes of the memory budget that rendering has reserved; all bytes if nothing is rendered yet.
    pub(super) fn in_use(&self) -> usize {
        self.in_use.get().copied().unwrap_or(usize::MAX)
    }

    /// Returns the groups of the kustomizations of the files.
    pub(super) fn groups(&self, set: &SourceSet) -> Arc<Vec<Group>> {
        let groups = || Arc::new(roots::groups(set));
        Arc::clone(self.groups.get_or_init(groups))
    }
}

impl RenderedOverlays<'static> {
    /// Renders the overlays of a set of files that shares equal files with another one, whose renderings are reused where
    /// nothing differs.
    #[must_use]
    pub fn after(set: &SourceSet, (files, mut rendered): (&SourceSet, Self)) -> Self {
        let groups = rendered.groups(files);
        let Some(own) = rendered.own.get() else {
            return Self::default();
        };
        let all: Vec<&Rendering> = own.iter().collect();
        let groups = (groups.as_slice(), rendered.in_use());
        let changed = ChangedFiles::between(files, set);
        if let Some(changed) =
            changed.and_then(|changed| render_relevant_changed(set, (&changed, &all), groups))
        {
            rendered.replace(changed);
            return rendered;
        }
        let groups = Arc::new(roots::groups(set));
        let (own, in_use) = render_relevant_groups(set, &groups, Some((files, own)));
        Self {
            own: OnceLock::from(own),
            in_use: OnceLock::from(in_use),
            groups: OnceLock::from(groups),
            before: None,
        }
    }

    /// Replaces the renderings at some positions by those after an edit that leaves the groups unchanged.
    pub(super) fn replace(&mut self, changed: Vec<(usize, Rendering)>) {
        let Some(own) = self.own.get_mut() else {
            return;
        };
        for (at, rendering) in changed {
            if let Some(old) = own.get_mut(at) {
                *old = rendering;
            }
        }
    }
}
