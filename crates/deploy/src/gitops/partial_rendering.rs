//! Renders only what the contents of some files change.

use std::sync::Arc;

use hashbrown::HashSet;
use memchr::memmem;
use meshprobe_tree::source::limits::RENDERED_VALUES;
use meshprobe_tree::source::{Document, SourceFile, SourceSet};
use meshprobe_yaml::{NodeRef, Span, Tree};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::gitops::changed_files::ChangedFiles;
use crate::gitops::render::render_roots_of;
use crate::kustomize::resource::Resource;
use crate::kustomize::roots::Group;
use crate::kustomize::{OriginMap, Rendering};

/// The part of the limit that all renderings may need if those of a changed file are rendered alone. All of them
/// have to be rendered in order otherwise, because the limit may leave out the last ones.
const SHARE: usize = 2;

/// Returns the renderings that differ from those before files have changed, each with its position in them. `groups` are
/// those of the kustomizations in both states, and `in_use` is what all renderings count.
///
/// Returns `None` if other renderings may differ, or if there may be other ones.
pub(crate) fn render_changed(
    sources: &SourceSet,
    (changed, renderings): (&ChangedFiles<'_>, &[&Rendering]),
    (groups, in_use): (&[Group], usize),
    is_wanted: &(impl Fn(&Resource) -> bool + Sync),
) -> Option<Vec<(usize, Rendering)>> {
    let is_left_out = |rendering: &&Rendering| rendering.left_out.is_some();
    if changed.may_change_deployments(renderings) || renderings.iter().any(is_left_out) {
        return None;
    }
    let named = changed.named_by(sources);
    // Deployments may take variables from generated objects.
    let generates = |file: &&SourceFile| memmem::find(file.text.as_bytes(), b"Generator").is_some();
    if named.iter().any(generates)
        && renderings
            .iter()
            .any(|rendering| rendering.deployed.is_some())
    {
        return None;
    }
    let paths: HashSet<&str> = named.iter().map(|file| &*file.path).collect();
    let affected: Vec<&Group> = groups
        .iter()
        .filter(|group| group.members.iter().any(|member| paths.contains(&**member)))
        .collect();
    if affected.is_empty() {
        return named.is_empty().then(Vec::new);
    }
    let deploys = |rendering: &&Rendering| deploys(sources, rendering, &affected);
    let is_small = in_use < RENDERED_VALUES / SHARE;
    if !is_small || renderings.iter().any(deploys) {
        return None;
    }
    let rendered: Vec<Vec<Rendering>> = affected
        .par_iter()
        .map(|group| {
            let roots = affected_roots(group, &paths);
            render_roots_of(sources, (group, &roots), is_wanted)
        })
        .collect();
    let mut found = Vec::new();
    for rendering in rendered.into_iter().flatten() {
        let is_own = |old: &&Rendering| old.deployed.is_none() && old.id == rendering.id;
        let at = renderings.iter().position(is_own)?;
        if !has_same_inputs(renderings.get(at)?, &rendering) {
            return None;
        }
        found.push((at, rendering));
    }
    Some(found)
}

/// Returns the roots of a group that include one of the kustomizations at these paths, in their order.
fn affected_roots<'g>(group: &'g Group, paths: &HashSet<&str>) -> Vec<&'g Arc<str>> {
    // What a member of a cycle includes depends on where the rendering starts.
    if group.has_cycle {
        return group.roots.iter().collect();
    }
    let members = group.members.iter();
    let named = members.map(|member| paths.contains(&**member)).collect();
    let affected = group.including(named);
    let is_affected = |root: &&Arc<str>| {
        let member = group.members.binary_search(root).ok();
        member.is_none_or(|member| affected.get(member) != Some(&false))
    };
    group.roots.iter().filter(is_affected).collect()
}

/// Returns whether an object of Flux or Argo CD may deploy a kustomization of the groups in its own way.
fn deploys(sources: &SourceSet, rendering: &Rendering, groups: &[&Group]) -> bool {
    let Some(deployed) = &rendering.deployed else {
        return false;
    };
    let Some(file) = sources.file(&deployed.file) else {
        return true;
    };
    let added = components(file).into_iter().filter_map(|entry| {
        let folder = sources.joined(&deployed.folder, entry);
        sources.kustomization_in(&folder)
    });
    let added: Vec<&SourceFile> = added.collect();
    groups.iter().any(|group| {
        let mut members = group.members.iter();
        group.contains(&rendering.id.root)
            || added.iter().any(|file| group.contains(&file.path))
            || members.any(|path| deployed.contains(path))
    })
}

/// Returns the entries of all lists of components in a file.
fn components(file: &SourceFile) -> Vec<&str> {
    let trees = file.documents.iter().filter_map(Document::tree);
    let mut nodes: Vec<NodeRef<'_>> = trees.filter_map(Tree::root).collect();
    let mut found = Vec::new();
    while let Some(node) = nodes.pop() {
        nodes.extend(node.items());
        for entry in node.entries() {
            if entry.key.text() == Some("components") {
                found.extend(entry.value.items().filter_map(NodeRef::text));
            }
            nodes.push(entry.value);
        }
    }
    found
}

/// Returns whether two renderings of a kustomization include the same documents, and deploy the same.
fn has_same_inputs(old: &Rendering, new: &Rendering) -> bool {
    new.left_out.is_none()
        && old.used == new.used
        && old.patches == new.patches
        && old.applied == new.applied
        && deploying(old).eq(deploying(new))
}

/// Iterates over the texts and the places of the objects of a rendering that may deploy others.
fn deploying(rendering: &Rendering) -> impl Iterator<Item = (Option<&str>, &OriginMap, Span)> {
    let documents = rendering.documents.iter();
    documents
        .filter(|document| document.may_deploy)
        .map(|rendered| {
            let document = &rendered.document;
            let tree = document.tree();
            let text = tree.map(|tree| tree.segment().slice(tree.text()));
            (text, &rendered.origin, document.segment)
        })
}
