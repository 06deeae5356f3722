//! Reads the objects and the plain files of the tree as they are written.

use std::path::Path;

use meshprobe_deploy::kustomize::helm_charts;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::install::PlainFile;
use meshprobe_tree::source::{Content, Role, SourceFile, is_kustomization};
use meshprobe_yaml::{NodeRef, Tree};

use crate::context::unrendered::{DocumentTreatment, RenderedDocuments};

/// An object as written in its file.
pub(super) struct WrittenObject<'t> {
    pub(super) object: Object<'t>,
    pub(super) is_target: bool,
    pub(super) treatment: DocumentTreatment,
}

/// Iterates over the objects of a file that are not only patches of other objects.
pub(super) fn written_objects<'t>(
    file: &'t SourceFile,
    documents: &RenderedDocuments<'t>,
) -> impl Iterator<Item = WrittenObject<'t>> {
    let is_target = file.role == Role::Target;
    file.documents
        .iter()
        .flat_map(Object::all_in)
        .map(move |object| WrittenObject {
            treatment: documents.treatment(&object),
            object,
            is_target,
        })
        .filter(|written| written.treatment != DocumentTreatment::Patch)
}

/// Returns the kustomizations with charts.
pub(super) fn chart_kustomizations<'t>(files: &[&'t SourceFile]) -> Vec<PlainFile<'t>> {
    let files = files.iter().filter(|file| is_kustomization(&file.path));
    let read = |file: &&'t SourceFile| {
        let mut documents = file.documents.iter();
        let root = documents.find_map(|document| document.tree()?.root())?;
        let has_charts = helm_charts::FIELDS
            .iter()
            .any(|key| root.get(key).is_some());
        has_charts.then(|| plain_file(file, root))
    };
    files.filter_map(read).collect()
}

fn plain_file<'t>(file: &'t SourceFile, root: NodeRef<'t>) -> PlainFile<'t> {
    PlainFile {
        path: &file.path,
        real_path: file.disk_path.as_deref().and_then(Path::to_str),
        root,
    }
}

/// Returns the files that do not contain Kubernetes objects, since a values file also states facts.
/// The first document of a file decides.
pub(super) fn plain_files<'t>(files: &[&'t SourceFile]) -> Vec<PlainFile<'t>> {
    files
        .iter()
        .filter_map(|file| {
            let Content::Plain(tree) = &file.documents.first()?.content else {
                return None;
            };
            Some(plain_file(file, Tree::root(tree)?))
        })
        .collect()
}
