//! Reads all files of a run in parallel.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_deploy::gitops::NamedFolders;
use meshprobe_tree::source::limits::{NESTED_KUSTOMIZATIONS, PARSED_VALUES, ValueCount};
use meshprobe_tree::source::{
    Candidate, Fault, FileLimit, Folders, Named, Request, SourceFile, SourceSet, find,
    mark_origins, mark_patches, mark_repositories, scripts,
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::panic_isolation::catch_panic;

#[cfg(debug_assertions)]
use super::planted_panic;

/// Finds, reads and parses the files of a run, and the local files that its kustomizations name.
#[must_use]
pub fn load(request: &Request) -> SourceSet {
    let request = &Request {
        filesystem: request.filesystem.for_one_run(),
        ..request.clone()
    };
    let mut folders = Folders::of(request.filesystem.clone());
    let candidates = find(request, &mut folders);
    let count = ValueCount::new(PARSED_VALUES);
    // The limit must not leave out a checked file for the sake of its surroundings.
    let (surroundings, inputs): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(Candidate::is_surrounding);
    let mut files = read_all(&inputs, request, &count);
    files.extend(read_all(&surroundings, request, &count));
    let mut set = SourceSet::new(files);
    set.links = std::mem::take(&mut folders.links);
    let mut absent = BTreeSet::new();
    let mut named = Named::new(request);
    let mut deployed_folders = NamedFolders::new(request);
    // Kustomizations that are nested deeper are not rendered; rendering reports them.
    for _ in 0..=NESTED_KUSTOMIZATIONS {
        let mut missing = named.missing(&set);
        set.links.extend(named.links());
        absent.extend(named.absent());
        missing.extend(deployed(&mut deployed_folders, &set, request, &mut folders));
        if missing.is_empty() {
            break;
        }
        set.files.extend(read_all(&missing, request, &count));
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
    mark_repositories(&mut set, request);
    mark_patches(&mut set, &folders);
    mark_origins(&mut set, request);
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

/// Reads files, and adds their values to `count`. If all files have too many, none of these is kept: which of them fit would
/// depend on which thread is faster.
fn read_all(candidates: &[Candidate], request: &Request, count: &ValueCount) -> Vec<SourceFile> {
    let read = |candidate: &Candidate| read_guarded(candidate, request, count);
    let mut files: Vec<SourceFile> = candidates.par_iter().map(read).collect();
    if count.is_exceeded() {
        files.iter_mut().for_each(leave_out);
    }
    files
}

/// Leaves out a file because all files have too many values. Another fault of the file has precedence.
fn leave_out(file: &mut SourceFile) {
    match &mut file.fault {
        None => file.exceed(FileLimit::AllValues),
        // Whether the file was parsed depends on which thread is faster.
        Some(Fault::TooLarge { limit, .. }) if *limit == FileLimit::Values => {
            *limit = FileLimit::AllValues;
        }
        Some(_) => {}
    }
}

/// Reads and parses one file. A panic affects only this file.
fn read_guarded(candidate: &Candidate, request: &Request, count: &ValueCount) -> SourceFile {
    let read = || {
        let file = candidate.read_within(request, count);
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

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";

    fn left_out(fault: Option<Fault>) -> Option<Fault> {
        let text = if fault.is_some() { "" } else { POD };
        let mut file = SourceFile::new(Arc::from("a.yaml"), Arc::from(text));
        file.fault = fault;
        leave_out(&mut file);
        file.fault
    }

    #[test]
    fn other_faults_of_a_left_out_file_are_kept() {
        let kubernetes = true;
        let too_large = |limit| Some(Fault::TooLarge { limit, kubernetes });
        let all = too_large(FileLimit::AllValues);
        assert_eq!(left_out(None), all);
        assert_eq!(left_out(all.clone()), all);
        assert_eq!(left_out(too_large(FileLimit::Values)), all);
        for fault in [
            too_large(FileLimit::Size),
            Some(Fault::NotUtf8 { kubernetes }),
            Some(Fault::Unreadable("denied".to_owned())),
        ] {
            assert_eq!(left_out(fault.clone()), fault);
        }
    }
}
