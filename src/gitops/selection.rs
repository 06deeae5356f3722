//! Renders all objects of the kustomizations of a set, or a selection.

use std::collections::BTreeSet;

use memchr::memmem;

use crate::kustomize::relevance::{has_values, is_relevant, may_deploy};
use crate::kustomize::{DocumentId, Rendering};
use crate::source::{SourceFile, SourceSet};

/// Renders every kustomization of the set that no other one lists, in the order of their paths,
/// and the folders that the Flux and Argo CD objects of the set deploy.
#[must_use]
pub fn render(sources: &SourceSet) -> Vec<Rendering> {
    super::render::render(sources, &|_| true)
}

/// Renders kustomizations and deployed folders like [`render`], but includes only objects that contain facts, run
/// pods or deploy others, and the values of releases: most bytes of a tree are definitions of resources that do not affect probes.
#[must_use]
pub fn render_relevant(sources: &SourceSet) -> Vec<Rendering> {
    let takes_values =
        |file: &SourceFile| memmem::find(file.text.as_bytes(), b"valuesFrom").is_some();
    let is_with_values = sources.files.iter().any(takes_values);
    super::render::render(sources, &|resource| {
        is_relevant(resource) || is_with_values && has_values(resource)
    })
}

/// Renders kustomizations and deployed folders like [`render`], but includes only objects of these documents, and
/// objects that deploy others.
#[must_use]
pub fn render_of(sources: &SourceSet, documents: &BTreeSet<DocumentId>) -> Vec<Rendering> {
    super::render::render(sources, &|resource| {
        may_deploy(resource) || documents.contains(&resource.document())
    })
}
