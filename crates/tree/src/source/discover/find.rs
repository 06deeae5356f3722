//! Lists the files of a run.
//!
//! Recognizes entries of kustomizations that are generated before a build, such as files with passwords: git ignores them.
//!
//! Sets the repositories of files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::candidate::{Candidate, Folders, Input, ReadFrom, Request};
use super::walk::{Root, WalkBounds, unread_roots, walk};
use super::walk_options::{Rules, WalkEntry};
use crate::filesystem::{FileSystem, Kind};
use crate::source::model::document::Fault;
use crate::source::model::file::Role;
use crate::source::model::objects::Links;
use crate::source::model::set::SourceSet;
use crate::source::read::io_error_reason;
use crate::source::repository::remote_urls;
use crate::source::shown_path::shown_path;

/// Lists the files of a run, sorted by path. A file with several names is listed once, under the first name; a
/// file that is both target and context is a target.
#[must_use]
pub fn find(request: &Request, folders: &mut Folders) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut known: HashMap<OsString, usize> = HashMap::new();
    let mut links = Links::default();
    let roots = unread_roots(request);
    let inputs = [
        (Role::Target, &request.targets),
        (Role::Context, &request.context),
        (Role::Repository, &roots),
    ];
    for (role, inputs) in inputs {
        let candidates = inputs
            .iter()
            .flat_map(|input| expand(input, role, request, folders));
        for candidate in candidates {
            match known.entry(candidate.key().as_os_str().to_os_string()) {
                Entry::Vacant(entry) => {
                    entry.insert(found.len());
                    found.push(candidate);
                }
                Entry::Occupied(entry) => {
                    if let Some(known) = found.get_mut(*entry.get()) {
                        links.add(candidate.path.to_string(), known.path.to_string());
                        known.explicit |= candidate.explicit && role == known.role;
                    }
                }
            }
        }
    }
    folders.links.extend(links);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    // Only standard input can have the path of another file.
    found.dedup_by(|a, b| a.path == b.path);
    folders.links.reverse(|link| {
        let inside = format!("{link}/");
        let first = found.partition_point(|candidate| *candidate.path < *inside);
        let first = found.get(first);
        first.is_some_and(|candidate| candidate.path.starts_with(&inside))
    });
    found
}

fn expand(input: &Input, role: Role, request: &Request, folders: &mut Folders) -> Vec<Candidate> {
    let files = &request.filesystem;
    let path = match input {
        Input::Path(path) | Input::Resolved(path) => path,
        Input::Bytes {
            name,
            bytes,
            disk_path,
        } => {
            let named = request.working_directory.join(&**name);
            let path = match disk_path {
                Some(path) => shown_path(path, &request.working_directory).into(),
                None => Arc::clone(name),
            };
            let identity = files.resolved_or_folded(disk_path.as_ref().unwrap_or(&named));
            return vec![Candidate {
                explicit: true,
                read_from: ReadFrom::Bytes(Arc::clone(bytes), disk_path.clone()),
                ..Candidate::on_disk(path, role, identity)
            }];
        }
        Input::Rendered(rendered) => {
            let identity = request.working_directory.join(&*rendered.name);
            return vec![Candidate {
                explicit: true,
                read_from: ReadFrom::Rendered(Arc::clone(rendered)),
                ..Candidate::on_disk(Arc::clone(&rendered.name), role, identity)
            }];
        }
    };
    let working_directory = request.working_directory.clone();
    let named = working_directory.join(path);
    let full = files.without_parent_dirs(&named);
    let shown = shown_path(&full, &working_directory);
    let real = match input {
        Input::Resolved(real) => Ok(real.clone()),
        _ => files.resolved_as_named(&named, &mut folders.tracked),
    };
    if files.is_dir(&full)
        && let Ok(real) = &real
    {
        let root = Root::resolved(&full, real.clone(), &working_directory, files);
        return expand_directory(&root, role, request, folders);
    }
    let options = &request.walk;
    if options.force_exclude && options.exclude.excludes(&shown, false) {
        return Vec::new();
    }
    let link = files.link_place(&full).filter(|_| real.is_ok());
    let (identity, read_from) = match real {
        Ok(real) => (real, origin_of_path(input, full, files)),
        Err(link) => {
            let link = shown_path(&link, &working_directory);
            let fault = format!("the link {link} leads out of the repository");
            (
                files.resolved_or_folded(&full),
                ReadFrom::Fault(Fault::Unreadable(fault)),
            )
        }
    };
    vec![Candidate {
        explicit: true,
        read_from,
        link,
        ..Candidate::on_disk(shown.into(), role, identity)
    }]
}

fn expand_directory(
    root: &Root,
    role: Role,
    request: &Request,
    folders: &mut Folders,
) -> Vec<Candidate> {
    let base = &request.working_directory;
    let files = &request.filesystem;
    if request.walk.force_exclude
        && request
            .walk
            .exclude
            .excludes(&shown_path(&root.path, base), true)
    {
        return Vec::new();
    }
    let shown = |path: &Path| shown_path(path, base);
    let bounds = match role {
        Role::Repository => WalkBounds::of_surroundings(root, request),
        Role::Target | Role::Context => WalkBounds::default(),
    };
    let walked = walk(root, &request.walk, &bounds, shown, folders);
    let unlisted = folders.tracked.unlisted();
    let unlisted = unlisted.filter(|_| role != Role::Repository);
    let unlisted = unlisted.map(|(path, error)| Candidate {
        read_from: ReadFrom::Fault(Fault::UnlistedIndex(error.clone())),
        ..Candidate::on_disk(shown(&path).into(), role, root.real(&path))
    });
    let unlisted: Vec<Candidate> = unlisted.collect();
    // The name of a file takes precedence over links to it.
    let is_file = |walked: &WalkEntry| matches!(walked, WalkEntry::File(_));
    let (found, mut others): (Vec<WalkEntry>, Vec<WalkEntry>) =
        walked.into_iter().partition(is_file);
    others.sort();
    let candidate = |walked| {
        let mut link = None;
        let (path, identity, read_from) = match walked {
            WalkEntry::File(path) => (path.clone(), root.real(&path), ReadFrom::Disk(path)),
            // Do not resolve the link again: it may have changed since.
            WalkEntry::Link(path, real) => {
                link = files.link_place(&path);
                (path.clone(), real, ReadFrom::Disk(path))
            }
            WalkEntry::DanglingLink(path) => {
                let real = root.real(&path);
                (path, real, ReadFrom::Fault(Fault::DanglingLink))
            }
            WalkEntry::Unopened(path, reason) | WalkEntry::Fault(path, reason) => {
                let real = root.real(&path);
                (path, real, ReadFrom::Fault(Fault::Unreadable(reason)))
            }
            WalkEntry::FolderLink(path, real) => {
                if let Some(real) = real {
                    let named = root.named(&real);
                    let target = named.map_or_else(
                        || shown_path(&real, &files.resolved_or_folded(base)),
                        |named| shown(&named),
                    );
                    folders.links.add(shown(&path), target);
                }
                return None;
            }
            WalkEntry::Script(path) => {
                let shown = shown(&path).into();
                let script = Candidate::on_disk(shown, Role::Context, root.real(&path));
                folders.scripts.push(script.into_text());
                return None;
            }
        };
        let explicit = matches!(read_from, ReadFrom::Fault(_)) && path == root.path;
        Some(Candidate {
            explicit,
            read_from,
            link,
            ..Candidate::on_disk(shown(&path).into(), role, identity)
        })
    };
    found
        .into_iter()
        .chain(others)
        .filter_map(candidate)
        .chain(unlisted)
        .collect()
}

/// Returns how an input path is read.
fn origin_of_path(input: &Input, path: PathBuf, files: &FileSystem) -> ReadFrom {
    let kind = match files.kind(&path) {
        Ok(kind) => kind,
        Err(error) if error.kind() == io::ErrorKind::NotFound && files.is_symlink(&path) => {
            return ReadFrom::Fault(Fault::DanglingLink);
        }
        Err(error) => return ReadFrom::Fault(Fault::Unreadable(io_error_reason(&error))),
    };
    // The user may name a pipe: `meshprobe check <(kustomize build .)`.
    if kind == Kind::Pipe && matches!(input, Input::Path(_)) {
        return ReadFrom::Pipe(path, OnceLock::new());
    }
    match kind.special() {
        Some(kind) => ReadFrom::Fault(Fault::Unreadable(format!("it is {kind}"))),
        None => ReadFrom::Disk(path),
    }
}

/// Recognizes generated entries. Reads the ignore files of each folder once.
#[derive(Debug, Default)]
pub(super) struct GeneratedEntries {
    /// The rules of folders, by their resolved paths; `None` if an ignore file must not be opened.
    rules: HashMap<PathBuf, Option<Rules>>,
}

impl GeneratedEntries {
    /// Returns whether the missing entry at the resolved path `place` is generated: an ignore file hides it, or a folder of it
    /// that does not contain `folder`, the resolved path of the folder of the kustomization.
    pub(super) fn contain(&mut self, folder: &Path, place: &Path, files: &FileSystem) -> bool {
        let rules = place.parent().and_then(|parent| self.rules(parent, files));
        let own = place
            .ancestors()
            .take_while(|path| !folder.starts_with(path));
        rules.is_some_and(|rules| {
            rules.hide(place, false) || own.into_iter().any(|path| rules.hide(path, true))
        })
    }

    /// Returns the rules for a folder, those of its own ignore files included.
    fn rules(&mut self, folder: &Path, files: &FileSystem) -> Option<&Rules> {
        let unknown = folder.ancestors();
        let unknown: Vec<&Path> = unknown
            .take_while(|above| !self.rules.contains_key(*above))
            .collect();
        for below in unknown.into_iter().rev() {
            let above = match below.parent() {
                Some(parent) => self.rules.get(parent).cloned().flatten(),
                None => Some(Rules::default()),
            };
            let rules = above.and_then(|above| above.within(below, below, files).ok());
            self.rules.insert(below.to_path_buf(), rules);
        }
        self.rules.get(folder)?.as_ref()
    }
}

/// Sets the repository of each file, as a path relative to the working directory, and the remotes of the repositories.
pub fn mark_repositories(set: &mut SourceSet, request: &Request) {
    let files = &request.filesystem;
    let working_directory = &request.working_directory;
    let directory: Arc<Path> = files.resolved_or_folded(working_directory).into();
    let mut remotes = BTreeMap::new();
    let mut known: HashMap<PathBuf, Option<Arc<str>>> = HashMap::new();
    for file in &mut set.files {
        let folder = file.disk_path.as_deref().and_then(Path::parent);
        file.directory = Some(Arc::clone(&directory));
        let Some(folder) = folder else { continue };
        if let Some(known) = known.get(folder) {
            file.repository.clone_from(known);
            continue;
        }
        file.repository = files.repository_root(folder).map(|root| {
            let shown = match shown_path(root, working_directory).as_str() {
                "." => Arc::from(""),
                shown => format!("{}/", shown.trim_end_matches('/')).into(),
            };
            let urls = || remote_urls(&files.resolved_or_folded(root), files);
            remotes.entry(Arc::clone(&shown)).or_insert_with(urls);
            shown
        });
        known.insert(folder.to_path_buf(), file.repository.clone());
    }
    set.remotes = Arc::new(remotes);
}
