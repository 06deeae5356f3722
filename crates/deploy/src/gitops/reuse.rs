//! Reuses renderings of another state of the same tree: those of kustomizations of which nothing differs.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::SourceSet;

use crate::gitops::changed_files::Differences;
use crate::kustomize::Rendering;
use crate::kustomize::roots::Group;

/// The renderings of another state, and what differs from it.
#[derive(Debug)]
pub(crate) struct Reuse<'p> {
    /// The renderings of roots that no object deploys.
    renderings: HashMap<&'p str, &'p Rendering>,
    differences: Differences<'p>,
}

impl<'p> Reuse<'p> {
    /// Prepares the renderings of another state; returns `None` if links make the paths of files ambiguous.
    pub(crate) fn new(
        sources: &'p SourceSet,
        before: &'p SourceSet,
        renderings: &'p [Rendering],
    ) -> Option<Self> {
        let has_links = !sources.links.is_empty() || !before.links.is_empty();
        if has_links {
            return None;
        }
        let own = renderings
            .iter()
            .filter(|rendering| rendering.deployed.is_none() && rendering.left_out.is_none());
        Some(Self {
            renderings: own.map(|found| (&*found.id.root, found)).collect(),
            differences: Differences::between(before, sources),
        })
    }

    /// Returns a rendering for each root of a group if everything that it includes is equal in both states. Rendering
    /// all of them again could exceed a limit that is not exceeded this way.
    pub(crate) fn renderings_of(&self, group: &Group) -> Vec<Option<Rendering>> {
        // What a member of a cycle includes depends on where the rendering starts. Without a cycle here, everything that an
        // unchanged root includes is unchanged, so the other state has no cycle there either.
        if group.has_cycle {
            return Vec::new();
        }
        let members = group.members.iter();
        let changed = members.map(|path| !self.differences.has_equal_inputs(path));
        let changed = group.including(changed.collect());
        let is_changed = |root: &Arc<str>| {
            let member = group.members.binary_search(root).ok();
            member.is_none_or(|member| changed.get(member) != Some(&false))
        };
        let known = |root: &Arc<str>| {
            let unchanged = Some(root).filter(|root| !is_changed(root))?;
            self.renderings
                .get(&**unchanged)
                .map(|found| (*found).clone())
        };
        group.roots.iter().map(known).collect()
    }
}
