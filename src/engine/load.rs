//! Reads all files of a run, in parallel.

use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::source::{
    Candidate, Fault, Folders, Named, Request, SourceFile, SourceSet, find, mark_hidden,
    mark_origins, mark_patches, mark_repositories,
};

use super::panic_report::catch_panic;
#[cfg(debug_assertions)]
use super::planted_panic;

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
    mark_hidden(&mut set, request, &folders);
    mark_repositories(&mut set, request, &folders);
    mark_patches(&mut set, &folders);
    mark_origins(&mut set, request);
    set.max_rendered = request.max_rendered;
    set
}

/// Reads and parses one file. A panic costs this file and no other.
fn read_guarded(candidate: &Candidate) -> SourceFile {
    let read = || {
        let file = candidate.read();
        #[cfg(debug_assertions)]
        planted_panic::trip("load", &file.path);
        file
    };
    catch_panic(read).unwrap_or_else(|panic| {
        let mut file = candidate.without_text();
        file.fault = Some(Fault::Panicked(panic.to_string()));
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
