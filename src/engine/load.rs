//! Reads all files of a run in parallel.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_deploy::gitops::NamedFolders;
use meshprobe_deploy::kustomize::NESTED;
use meshprobe_tree::source::{
    Candidate, Fault, Folders, MemoryBudget, Named, Request, SourceFile, SourceSet, find,
    mark_origins, mark_patches, mark_repositories, parse_budget, scripts,
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::panic_report::catch_panic;

#[cfg(debug_assertions)]
use super::planted_panic;

/// Finds, reads and parses the files of a run, and the local files that its kustomizations name.
#[must_use]
pub fn load(request: &Request) -> SourceSet {
    let mut folders = Folders::of(request.filesystem.clone());
    let candidates = find(request, &mut folders);
    let budget = parse_budget(request.max_parsed, candidates.len());
    // The memory limit must not leave out a checked file for the sake of its surroundings.
    let (surroundings, inputs): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(Candidate::is_surrounding);
    let (mut files, budget) = read_all(&inputs, request, budget);
    let (others, mut budget) = read_all(&surroundings, request, budget);
    files.extend(others);
    let mut set = SourceSet::new(files);
    set.links = std::mem::take(&mut folders.links);
    let mut absent = BTreeSet::new();
    let mut named = Named::new(request);
    let mut deployed_folders = NamedFolders::new(request);
    // Kustomizations that are nested deeper are not rendered; rendering reports them.
    for _ in 0..=NESTED {
        let mut missing = named.missing(&set);
        set.links.extend(named.links());
        absent.extend(named.absent());
        missing.extend(deployed(&mut deployed_folders, &set, request, &mut folders));
        if missing.is_empty() {
            break;
        }
        let more;
        (more, budget) = read_all(&missing, request, budget);
        set.files.extend(more);
        let files = std::mem::take(&mut set.files);
        set.files = SourceSet::new(files).files;
    }
    let scripts = scripts(&set, &mut folders, request);
    if !scripts.is_empty() {
        let mut files = std::mem::take(&mut set.files);
        files.extend(scripts);
        set.files = SourceSet::new(files).files;
    }
    set.absent = absent.into();
    mark_repositories(&mut set, request, &folders);
    mark_patches(&mut set, &folders);
    mark_origins(&mut set, request);
    set.max_rendered = request.max_rendered;
    set
}

/// Lists the files of the folders that files of the set deploy and that are not read yet.
fn deployed(
    named: &mut NamedFolders<'_>,
    set: &SourceSet,
    request: &Request,
    folders: &mut Folders,
) -> Vec<Candidate> {
    let context = named.missing(set);
    if context.is_empty() {
        return Vec::new();
    }
    let request = Request {
        context,
        filesystem: request.filesystem.clone(),
        shared: request.shared.clone(),
        working_directory: request.working_directory.clone(),
        walk: request.walk.clone(),
        ..Request::default()
    };
    let mut found = find(&request, folders);
    found.retain(|candidate| set.file(&candidate.path).is_none());
    found
}

/// Reads files within a budget; also returns the budget for more files.
fn read_all(
    candidates: &[Candidate],
    request: &Request,
    budget: MemoryBudget,
) -> (Vec<SourceFile>, MemoryBudget) {
    if candidates.len() > 1 {
        let attempt = budget.attempt();
        let files: Vec<SourceFile> = candidates
            .par_iter()
            .map(|candidate| read_guarded(candidate, request, &attempt))
            .collect();
        if !attempt.is_exceeded() {
            return (files, attempt.settled());
        }
    }
    // Files are read one after the other, so that the files that fit do not depend on the speed of the threads.
    let files = candidates
        .iter()
        .map(|candidate| read_guarded(candidate, request, &budget))
        .collect();
    (files, budget)
}

/// Reads and parses one file. A panic affects only this file.
fn read_guarded(candidate: &Candidate, request: &Request, budget: &MemoryBudget) -> SourceFile {
    let read = || {
        if budget.is_over() {
            return candidate.without_text();
        }
        let file = candidate.read_within(request, budget);
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

/// Returns the paths that the user named and that could not be read.
#[must_use]
pub fn unread_paths(set: &SourceSet) -> Vec<Arc<str>> {
    set.files
        .iter()
        .filter(|file| {
            let fault = file.fault.as_ref();
            let is_unread = fault.is_some_and(|fault| {
                matches!(
                    fault,
                    Fault::Unreadable(_) | Fault::DanglingLink | Fault::TooLarge { .. }
                )
            });
            file.explicit && is_unread
        })
        .map(|file| Arc::clone(&file.path))
        .collect()
}
