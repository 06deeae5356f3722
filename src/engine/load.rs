//! Reads all files of a run, in parallel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::source::{
    Candidate, Fault, Folders, Named, Request, SourceFile, SourceSet, find, mark_origins,
    mark_patches, mark_repositories,
};

/// Finds, reads and parses the files of a run, and the local files that its kustomizations name.
#[must_use]
pub fn load(request: &Request) -> SourceSet {
    let mut folders = Folders::default();
    let candidates = find(request, &mut folders);
    let files = candidates.par_iter().map(read_guarded).collect();
    let mut set = SourceSet::new(files);
    let mut named = Named::new(request);
    loop {
        let missing = named.missing(&set);
        if missing.is_empty() {
            break;
        }
        let more: Vec<SourceFile> = missing.par_iter().map(read_guarded).collect();
        set.files.extend(more);
        set = SourceSet::new(set.files);
    }
    mark_repositories(&mut set, request, &folders);
    mark_patches(&mut set, &folders);
    mark_origins(&mut set, request);
    set
}

/// A fault of ours in one file must not cost the user the others.
fn read_guarded(candidate: &Candidate) -> SourceFile {
    catch_unwind(AssertUnwindSafe(|| candidate.read())).unwrap_or_else(|_| {
        let mut file = candidate.without_text();
        file.fault = Some(Fault::Internal);
        file
    })
}

/// Lists the paths that the user named and that could not be read.
#[must_use]
pub fn unread_paths(set: &SourceSet) -> Vec<Arc<str>> {
    set.files
        .iter()
        .filter(|file| file.explicit && matches!(file.fault, Some(Fault::Unreadable(_))))
        .map(|file| Arc::clone(&file.path))
        .collect()
}
