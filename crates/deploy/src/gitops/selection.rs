//! Renders all objects of the kustomizations of a set, or a selection.

use std::collections::BTreeSet;

use meshprobe_tree::source::SourceSet;

use crate::gitops::configs::takes_values;
use crate::gitops::reuse::Reuse;
use crate::kustomize::finish::{has_values, is_relevant, may_deploy};
use crate::kustomize::resource::Resource;
use crate::kustomize::roots::groups;
use crate::kustomize::{DocumentId, Rendering};

/// Renders every kustomization of the set that no other one lists, in the order of their paths,
/// and the folders that the Flux and Argo CD objects of the set deploy.
#[must_use]
pub fn render(sources: &SourceSet) -> Vec<Rendering> {
    super::render::render(sources, &groups(sources), &|_| true, None)
}

/// Renders kustomizations and deployed folders like [`render`], but includes only objects that contain facts, run
/// pods or deploy others, and the values of releases: most bytes of a tree are definitions of resources that do not affect probes.
#[must_use]
pub fn render_relevant(sources: &SourceSet) -> Vec<Rendering> {
    render_relevant_again(sources, None)
}

/// Renders like [`render_relevant`]. Reuses the renderings of another state of the tree, of which nothing differs.
#[must_use]
pub fn render_relevant_again(
    sources: &SourceSet,
    before: Option<(&SourceSet, &[Rendering])>,
) -> Vec<Rendering> {
    let is_with_values = has_values_from(sources);
    let reuse = before
        .filter(|(files, _)| has_values_from(files) == is_with_values)
        .and_then(|(files, renderings)| Reuse::new(sources, files, renderings));
    let is_wanted = |resource: &Resource| is_wanted(resource, is_with_values);
    super::render::render(sources, &groups(sources), &is_wanted, reuse.as_ref())
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
}
