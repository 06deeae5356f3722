//! Renders all objects of the kustomizations of a set, or a selection.

use std::collections::BTreeSet;

use meshprobe_tree::source::SourceSet;

use crate::gitops::changed_files::ChangedFiles;
use crate::gitops::configs::takes_values;
use crate::gitops::partial_rendering::render_changed;
use crate::gitops::reuse::Reuse;
use crate::kustomize::relevance::{has_values, is_relevant, may_deploy};
use crate::kustomize::resource::Resource;
use crate::kustomize::roots::{Group, groups};
use crate::kustomize::{DocumentId, Rendering};

/// Renders every kustomization of the set that no other one lists, in the order of their paths,
/// and the folders that the Flux and Argo CD objects of the set deploy.
#[must_use]
pub fn render(sources: &SourceSet) -> Vec<Rendering> {
    super::render::render(sources, &groups(sources), &|_| true, None).0
}

/// Renders kustomizations and deployed folders like [`render`], but includes only objects that contain facts, run
/// pods or deploy others, and the values of releases: most bytes of a tree are definitions of resources that do not affect probes.
#[must_use]
pub fn render_relevant(sources: &SourceSet) -> Vec<Rendering> {
    render_relevant_again(sources, None).0
}

/// Renders like [`render_relevant`]. Reuses the renderings of another state of the tree, of which nothing differs. Also
/// returns what they count towards the limit of all renderings.
#[must_use]
pub fn render_relevant_again(
    sources: &SourceSet,
    before: Option<(&SourceSet, &[Rendering])>,
) -> (Vec<Rendering>, usize) {
    render_relevant_groups(sources, &groups(sources), before)
}

/// Renders like [`render_relevant_again`], given the groups of the kustomizations.
pub fn render_relevant_groups(
    sources: &SourceSet,
    groups: &[Group],
    before: Option<(&SourceSet, &[Rendering])>,
) -> (Vec<Rendering>, usize) {
    let is_with_values = has_values_from(sources);
    let reuse = before
        .filter(|(files, _)| has_values_from(files) == is_with_values)
        .and_then(|(files, renderings)| Reuse::new(sources, files, renderings));
    let is_wanted = |resource: &Resource| is_wanted(resource, is_with_values);
    super::render::render(sources, groups, &is_wanted, reuse.as_ref())
}

/// Returns the renderings that differ from those before files have changed, each with its position in them. `groups` are the
/// [`groups`] of the kustomizations, with what [`render_relevant_again`] has counted. Returns `None` if all of them may have to be rendered again.
pub fn render_relevant_changed(
    sources: &SourceSet,
    (changed, renderings): (&ChangedFiles<'_>, &[&Rendering]),
    groups: (&[Group], usize),
) -> Option<Vec<(usize, Rendering)>> {
    let is_with_values = has_values_from(sources);
    render_changed(sources, (changed, renderings), groups, &|resource| {
        is_wanted(resource, is_with_values)
    })
}

fn is_wanted(resource: &Resource, is_with_values: bool) -> bool {
    is_relevant(resource) || is_with_values && has_values(resource)
}

/// Returns whether a file may take values from another object.
fn has_values_from(sources: &SourceSet) -> bool {
    sources.files.iter().any(takes_values)
}

/// Renders kustomizations and deployed folders like [`render`], but includes only objects of these documents, and
/// objects that deploy others.
#[must_use]
pub fn render_of(sources: &SourceSet, documents: &BTreeSet<DocumentId>) -> Vec<Rendering> {
    super::render::render(
        sources,
        &groups(sources),
        &|resource| may_deploy(resource) || documents.contains(&resource.document()),
        None,
    )
    .0
}
