//! Local files that kustomizations name and that lie outside of the paths of the run: without
//! them an overlay cannot be judged. They are read as context.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::yaml::{NodeRef, Tree};

use super::boundary::repository_root;
use super::escaped_name::unescaped_path;
use super::file::{Role, SourceFile, SourceSet};
use super::find::{Candidate, Request, shown_path};
use super::folders::Folders;
use super::kustomization::{NAMES, folded, identity, is_kustomization};
use super::linked_kustomization::{key_of, link_place};
use super::links::Links;
use super::place;
use super::read::is_ordinary;

/// Finds what the kustomizations of a set name, round by round.
#[derive(Debug)]
pub struct Named<'r> {
    request: &'r Request,
    /// The files of the set by the one spelling of where they are; worked out once it is needed.
    known: Option<HashMap<OsString, Arc<str>>>,
    /// The links that the entries seen last lead through.
    links: Links,
    /// The root of the repository that a folder lies in, where there is one.
    roots: HashMap<PathBuf, Option<PathBuf>>,
    /// The kustomizations that were looked at.
    seen: BTreeSet<Arc<str>>,
}

impl<'r> Named<'r> {
    /// Starts before any kustomization was looked at.
    #[must_use]
    pub fn new(request: &'r Request) -> Self {
        Self {
            request,
            known: None,
            links: Links::default(),
            roots: HashMap::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Returns the files that kustomizations of the set name and that are not in it. Looks at each
    /// kustomization once: circles end.
    pub fn missing(&mut self, set: &SourceSet) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        for file in set.files.iter().filter(|file| is_kustomization(&file.path)) {
            if !self.seen.insert(Arc::clone(&file.path)) {
                continue;
            }
            for entry in entries(file) {
                found.extend(self.named(set, file, entry));
            }
        }
        found
    }

    /// Returns the links that were found since the last call.
    pub fn links(&mut self) -> Links {
        std::mem::take(&mut self.links)
    }

    fn named(&mut self, set: &SourceSet, file: &SourceFile, entry: &str) -> Option<Candidate> {
        let folder = file.lies_at.as_deref()?.parent()?;
        // A linked folder is told by the name that led into it.
        let directory = &self.request.working_directory;
        let shown_folder = place::folder(&file.path);
        if is_in_set(set, shown_folder, entry) {
            return None;
        }
        let (mut place, mut spelled) = (
            folder.join(entry),
            directory.join(unescaped_path(shown_folder)).join(entry),
        );
        // Links are followed, but not out of the repository: nothing outside is looked at.
        let mut real = identity(&place);
        if !self.is_within(folder, &real) {
            return None;
        }
        let link = set.joined(shown_folder, entry);
        let is_folder = real.is_dir();
        if real != folded(&identity(folder).join(entry)) {
            // Named by where it is: what it names starts there.
            let target = shown_path(&real, &identity(directory));
            spelled = directory.join(unescaped_path(&target));
            self.links.add(link.clone(), target);
        }
        if is_folder {
            let name = NAMES.iter().find(|name| place.join(name).is_file())?;
            place.push(name);
            spelled.push(name);
            real = identity(&place);
        }
        let shown = shown_path(&spelled, directory);
        let is_read = set.file(&shown).is_some() || !is_ordinary(&real);
        if is_read || self.request.walk.exclude.excludes(&shown, false) {
            return None;
        }
        if !self.is_within(folder, &real) {
            return None;
        }
        // A linked kustomization is read in the folder of the link.
        let linked = link_place(&place);
        let key = linked.as_deref().unwrap_or(&real);
        if let Some(known) = self.known(set, key, &shown) {
            let target = if is_folder {
                place::folder(&known).trim_end_matches('/')
            } else {
                &known
            };
            self.links.add(link, target.to_owned());
            return None;
        }
        let candidate = Candidate::on_disk(shown.into(), Role::Context, real);
        Some(match linked {
            Some(link) => candidate.linked_from(link),
            None => candidate,
        })
    }

    /// Returns the path of the file of the set, or found so far, that is at `place`; otherwise adds one there.
    fn known(&mut self, set: &SourceSet, place: &Path, shown: &str) -> Option<Arc<str>> {
        let known = self.known.get_or_insert_with(|| {
            let files = set.files.iter();
            files
                .filter_map(|file| {
                    let place = key_of(file)?.into_owned();
                    Some((place.into(), Arc::clone(&file.path)))
                })
                .collect()
        });
        let found = known.get(place.as_os_str()).cloned();
        if found.is_none() {
            known.insert(place.into(), shown.into());
        }
        found
    }

    /// Tells whether a file lies in the repository of `folder`; outside of a repository any will do.
    fn is_within(&mut self, folder: &Path, real: &Path) -> bool {
        let root = self.roots.entry(folder.to_path_buf()).or_insert_with(|| {
            let folder = identity(folder);
            repository_root(&folder).map(Path::to_path_buf)
        });
        root.as_deref().is_none_or(|root| real.starts_with(root))
    }
}

/// Tells whether an entry of a kustomization in `folder`, as shown, is read already: without a look
/// at the disk, which knows more ways to one place.
fn is_in_set(set: &SourceSet, folder: &str, entry: &str) -> bool {
    let entry = set.joined(folder, entry);
    set.file(&entry).is_some() || set.kustomization_in(&entry).is_some()
}

/// Returns all local paths that a kustomization names.
fn entries(file: &SourceFile) -> Vec<&str> {
    let mut documents = file.documents.iter();
    let root = documents.find_map(|document| document.tree().and_then(Tree::root));
    let Some(root) = root else { return Vec::new() };
    let items = |key: &str| root.get(key).into_iter().flat_map(NodeRef::items);
    let by_name = ["resources", "bases", "components", "patchesStrategicMerge"];
    let by_path = ["patches", "patchesJson6902"].into_iter().flat_map(items);
    by_name
        .into_iter()
        .flat_map(items)
        .chain(by_path.filter_map(|patch| patch.get("path")))
        .filter_map(NodeRef::text)
        .filter(|text| !text.is_empty() && !text.contains(['\n', ':']) && !text.starts_with('/'))
        .collect()
}

/// Tells each file which repository it lies in, as seen from the working directory.
pub fn mark_repositories(set: &mut SourceSet, request: &Request, folders: &Folders) {
    let directory: Arc<Path> = identity(&request.working_directory).into();
    let mut roots = Roots {
        working_directory: &request.working_directory,
        folders,
        known: HashMap::new(),
    };
    let folders = set
        .files
        .iter()
        .map(|file| file.lies_at.as_deref()?.parent());
    let found: Vec<Option<Arc<str>>> = folders.map(|folder| roots.of(folder?)).collect();
    drop(roots);
    for (file, repository) in set.files.iter_mut().zip(found) {
        file.directory = Some(Arc::clone(&directory));
        file.repository = repository;
    }
}

/// The roots of repositories, as shown.
struct Roots<'r, 's> {
    working_directory: &'r Path,
    folders: &'r Folders,
    known: HashMap<&'s OsStr, Option<Arc<str>>>,
}

impl<'s> Roots<'_, 's> {
    /// The root of the repository that a folder lies in; remembers that of each folder on the way up.
    fn of(&mut self, folder: &'s Path) -> Option<Arc<str>> {
        let mut found = None;
        let mut passed = Vec::new();
        for above in folder.ancestors() {
            if let Some(there) = self.known.get(above.as_os_str()) {
                found.clone_from(there);
                break;
            }
            passed.push(above);
            if self.folders.is_repository(above) {
                found = Some(match shown_path(above, self.working_directory).as_str() {
                    "." => Arc::from(""),
                    shown => format!("{}/", shown.trim_end_matches('/')).into(),
                });
                break;
            }
        }
        let passed = passed.into_iter();
        self.known
            .extend(passed.map(|path| (path.as_os_str(), found.clone())));
        found
    }
}
