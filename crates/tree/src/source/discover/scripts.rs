//! Scripts and pages with commands that change Namespaces.

use std::sync::Arc;

use memchr::memmem;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::source::discover::folders::Folders;
use crate::source::discover::request::Request;
use crate::source::limits::{PARSED_VALUES, ValueCount};
use crate::source::model::file::SourceFile;
use crate::source::model::set::SourceSet;

/// Reads the scripts of the walk that may label Namespaces, if the set contains a Namespace.
pub fn scripts(set: &SourceSet, folders: &mut Folders, request: &Request) -> Vec<SourceFile> {
    let scripts = std::mem::take(&mut folders.scripts);
    let mut documents = set.files.iter().flat_map(|file| &file.documents);
    let has_namespace = documents.any(|document| {
        let kind = document
            .tree()
            .and_then(|tree| tree.root()?.get("kind")?.text());
        kind == Some("Namespace")
    });
    if !has_namespace {
        return Vec::new();
    }
    let files = &request.filesystem;
    let mut read: Vec<SourceFile> = scripts
        .into_par_iter()
        .filter(|script| files.is_regular_small_file(&script.identity))
        .map(|script| script.read_within(request, &ValueCount::new(PARSED_VALUES)))
        .filter(|file| labels_objects(&file.text))
        .collect();
    read.retain(|file| set.file(&file.path).is_none());
    read.sort_by(|a, b| a.path.cmp(&b.path));
    read.dedup_by(|a, b| Arc::as_ref(&a.path) == Arc::as_ref(&b.path));
    read
}

/// Returns whether a text may contain a command that labels or annotates Namespaces, or objects of a file.
#[must_use]
pub fn labels_objects(text: &str) -> bool {
    let contains = |word: &str| memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    [" label ", " annotate ", " patch "]
        .into_iter()
        .any(contains)
        && [" namespace", " ns", " -f", " --filename"]
            .into_iter()
            .any(contains)
}
