//! Local files outside of the paths of the run that kustomizations list. Overlays cannot be rendered without them, so
//! they are read as context.
//!
//! Scripts and pages with commands that change Namespaces.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;
use memchr::memmem;
use meshprobe_yaml::NodeRef;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::candidate::{Candidate, Folders, Request};
use super::find::GeneratedEntries;
use crate::filesystem::{FileSystem, without_dots};
use crate::source::classify::{NAMES, is_kustomization};
use crate::source::kustomization_fields::listed;
use crate::source::limits::{PARSED_VALUES, ValueCount};
use crate::source::model::file::{Role, SourceFile};
use crate::source::model::objects::Links;
use crate::source::model::set::SourceSet;
use crate::source::paths;
use crate::source::shown_path::{path_of_name, shown_path};

/// Search for files that the kustomizations of a set list, in rounds.
#[derive(Debug)]
pub struct Named<'r> {
    request: &'r Request,
    /// The files of the set by resolved path; computed on demand.
    known: Option<HashMap<OsString, Arc<str>>>,
    /// The links in the paths of entries since the last call of [`Named::links`].
    links: Links,
    /// The displayed paths of entries that do not exist and are not generated, since the last call of
    /// [`Named::absent`].
    absent: BTreeSet<String>,
    /// The root of the repository that contains a folder, if there is one.
    roots: HashMap<PathBuf, Option<PathBuf>>,
    /// The entries that are generated before a build.
    generated: GeneratedEntries,
    /// The kustomizations that were visited.
    seen: BTreeSet<Arc<str>>,
}

impl<'r> Named<'r> {
    /// Creates a search that has not visited any kustomization.
    #[must_use]
    pub fn new(request: &'r Request) -> Self {
        Self {
            request,
            known: None,
            links: Links::default(),
            absent: BTreeSet::new(),
            roots: HashMap::new(),
            generated: GeneratedEntries::default(),
            seen: BTreeSet::new(),
        }
    }

    /// Returns the files that kustomizations of the set list and that are not in the set. Visits each
    /// kustomization only once, so cycles end.
    pub fn missing(&mut self, set: &SourceSet) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        for file in set.files.iter().filter(|file| is_kustomization(&file.path)) {
            if !self.seen.insert(Arc::clone(&file.path)) {
                continue;
            }
            for entry in entries(file) {
                found.extend(self.candidate(set, file, entry));
            }
            for entry in env_files(file) {
                let candidate = self.candidate(set, file, entry);
                found.extend(candidate.map(Candidate::into_text));
            }
            for entry in copied_files(file) {
                self.place(set, file, entry);
            }
        }
        found
    }

    /// Returns the links that were found since the last call.
    pub fn links(&mut self) -> Links {
        std::mem::take(&mut self.links)
    }

    /// Returns the displayed paths of entries that do not exist and are not generated, and that were found since the
    /// last call.
    pub fn absent(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.absent)
    }

    /// Returns the path of an entry that is not in the set, as written and resolved. Records that it does not exist.
    fn place(
        &mut self,
        set: &SourceSet,
        file: &SourceFile,
        entry: &str,
    ) -> Option<(PathBuf, PathBuf)> {
        let folder = file.disk_path.as_deref()?.parent()?;
        let files = &self.request.filesystem;
        let shown_folder = paths::folder(&file.path);
        if is_in_set(set, shown_folder, entry) {
            return None;
        }
        let place = folder.join(entry);
        // Follow links, but not out of the repository: files outside must not be accessed.
        let real = files.resolved_or_folded(&place);
        if !self.is_within(folder, &real) {
            return None;
        }
        if is_absent(&place, files) && is_absent(&real, files) {
            let folder = files.resolved_or_folded(folder);
            if !self.generated.contain(&folder, &real, files) {
                self.absent.insert(set.joined(shown_folder, entry));
            }
            return None;
        }
        Some((place, real))
    }

    fn candidate(&mut self, set: &SourceSet, file: &SourceFile, entry: &str) -> Option<Candidate> {
        let (mut place, mut real) = self.place(set, file, entry)?;
        let folder = file.disk_path.as_deref()?.parent()?;
        // The displayed path of a linked folder is that of the link.
        let directory = &self.request.working_directory;
        let files = &self.request.filesystem;
        let shown_folder = paths::folder(&file.path);
        let mut spelled = directory.join(path_of_name(shown_folder)).join(entry);
        let link = set.joined(shown_folder, entry);
        let is_folder = files.is_dir(&real);
        if real != without_dots(&files.resolved_or_folded(folder).join(entry)) {
            // Use the resolved path, because the entries of the target are relative to it.
            let target = shown_path(&real, &files.resolved_or_folded(directory));
            spelled = directory.join(path_of_name(&target));
            self.links.add(link.clone(), target);
        }
        if is_folder {
            let name = NAMES.iter().find(|name| files.is_file(&place.join(name)))?;
            place.push(name);
            spelled.push(name);
            real = files.resolved_or_folded(&place);
        }
        let shown = shown_path(&spelled, directory);
        let is_read = set.file(&shown).is_some() || !files.is_regular_small_file(&real);
        if is_read || self.request.walk.exclude.excludes(&shown, false) {
            return None;
        }
        if !self.is_within(folder, &real) {
            return None;
        }
        // A linked kustomization is read in the folder of the link.
        let linked = files.link_place(&place);
        let key = linked.as_deref().unwrap_or(&real);
        if let Some(known) = self.known_or_insert(set, key, &shown) {
            let target = if is_folder {
                paths::folder(&known).trim_end_matches('/')
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

    /// Returns the displayed path of the file with the resolved path `place`, in the set or found so far. If there is
    /// none, adds `shown` for it.
    fn known_or_insert(&mut self, set: &SourceSet, place: &Path, shown: &str) -> Option<Arc<str>> {
        let files = &self.request.filesystem;
        let known = self.known.get_or_insert_with(|| {
            set.files
                .iter()
                .filter_map(|file| {
                    let key = files.identity_path(file)?.into_owned();
                    Some((key.into(), Arc::clone(&file.path)))
                })
                .collect()
        });
        let found = known.get(place.as_os_str()).cloned();
        if found.is_none() {
            known.insert(place.into(), shown.into());
        }
        found
    }

    /// Returns whether a resolved path is in the repository of `folder`; always `true` if there is no repository.
    fn is_within(&mut self, folder: &Path, real: &Path) -> bool {
        let files = &self.request.filesystem;
        let root = self.roots.entry(folder.to_path_buf()).or_insert_with(|| {
            let folder = files.resolved_or_folded(folder);
            files.repository_root(&folder).map(Path::to_path_buf)
        });
        root.as_deref().is_none_or(|root| real.starts_with(root))
    }
}

/// Returns whether nothing has this path, not even a link.
fn is_absent(path: &Path, files: &FileSystem) -> bool {
    let found = files.symlink_kind(path);
    found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns whether an entry of a kustomization in `folder`, as shown, is already in the set. Compares only displayed
/// paths, without an access to the disk.
fn is_in_set(set: &SourceSet, folder: &str, entry: &str) -> bool {
    let entry = set.joined(folder, entry);
    set.file(&entry).is_some() || set.kustomization_in(&entry).is_some()
}

/// Returns the paths of the files with variables from which a kustomization generates objects: lists of variables, and
/// files that are the value of a variable, whose key is the name of one.
fn env_files(file: &SourceFile) -> impl Iterator<Item = &str> {
    let found = generators(file).flat_map(env_entries);
    found.filter(|text| is_local(text))
}

/// Returns the paths of all files that the generators of a kustomization copy.
fn copied_files(file: &SourceFile) -> impl Iterator<Item = &str> {
    let entries = generators(file).filter_map(|generator| generator.get("files"));
    let entries = entries.flat_map(NodeRef::items).filter_map(NodeRef::text);
    let paths = entries.map(|entry| entry.split_once('=').map_or(entry, |(_, path)| path));
    paths.filter(|text| is_local(text))
}

fn generators(file: &SourceFile) -> impl Iterator<Item = NodeRef<'_>> {
    let fields = ["configMapGenerator", "secretGenerator"].into_iter();
    let lists = fields.filter_map(|key| file.root()?.get(key));
    lists.flat_map(NodeRef::items)
}

fn env_entries<'t>(generator: NodeRef<'t>) -> impl Iterator<Item = &'t str> + use<'t> {
    let items = |key: &str| generator.get(key).into_iter().flat_map(NodeRef::items);
    let is_variable = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let values = items("files")
        .filter_map(NodeRef::text)
        .filter_map(move |entry| {
            let (key, path) = entry.split_once('=')?;
            key.bytes().all(is_variable).then_some(path)
        });
    let lists = items("envs").chain(generator.get("env"));
    lists.filter_map(NodeRef::text).chain(values)
}

/// Returns whether a text may be a local path.
fn is_local(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\n', ':']) && !text.starts_with('/')
}

/// Returns all local paths that a kustomization lists.
fn entries(file: &SourceFile) -> impl Iterator<Item = &str> {
    let entries = file.root().into_iter().flat_map(listed);
    entries
        .map(|entry| entry.text)
        .filter(|text| is_local(text))
}

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
