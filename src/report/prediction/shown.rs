//! The predictions that are shown, in the order of the files.

use std::sync::Arc;

use meshprobe_mesh::kube::Object;
use meshprobe_predict::predict::EnvironmentNames;
use meshprobe_tree::source::chart_of_output;

/// The path of a file, and the number of the document in it.
pub(super) type Document = (String, usize);

/// An item of the output, with the location and the environment of its object.
#[derive(Clone, Debug)]
pub(super) struct Shown<T> {
    /// The file, and the number of the document in it; the folder for a chart, of which each output is a file.
    pub(super) document: Document,
    /// The kustomization that renders the object.
    rendered_by: Option<String>,
    /// The name of the overlay or cluster; `None` if the object is deployed unchanged.
    pub(super) environment: Option<Arc<str>>,
    /// The item.
    pub(super) item: T,
}

impl<T> Shown<T> {
    pub(super) fn new(object: &Object<'_>, names: &EnvironmentNames, item: T) -> Self {
        Self {
            document: match chart_of_output(object.path()) {
                Some(folder) => (folder.to_owned(), 0),
                None => (object.path().to_string(), object.document.index),
            },
            rendered_by: object
                .rendered_by
                .map(|rendering| rendering.root.to_string()),
            environment: object.overlay.as_ref().map(|overlay| names.name(overlay)),
            item,
        }
    }
}

/// Sorts items by file and document, then by the kustomization that renders the document.
pub(super) fn in_file_order<T>(mut shown: Vec<Shown<T>>) -> Vec<Shown<T>> {
    shown.sort_by(|a, b| (&a.document, &a.rendered_by).cmp(&(&b.document, &b.rendered_by)));
    shown
}
