//! Manifests that git tracks and an ignore file hides from the run: a change of one line in `.ignore` must not
//! silently disable the linter, or hide an overlay from a rewrite of its base.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use memchr::memmem;

use crate::filesystem::FileSystem;
use crate::source::classify::mentions_manifest;
use crate::source::decode::strip_utf16_zeros;
use crate::source::discover::folders::Folders;
use crate::source::discover::ignored_folders::{ignored_folders, line_of};
use crate::source::discover::request::Request;
use crate::source::discover::walk_entry::{IgnoreRule, is_manifest};
use crate::source::discover::walk_options::TrackedHidden;
use crate::source::git::index::TrackedFiles;
use crate::source::kustomization_name::is_kustomization;
use crate::source::manifest_keys::looks_like_kubernetes;
use crate::source::memory_budget::MemoryBudget;
use crate::source::model::document::{Content, Document};
use crate::source::model::file::{Role, SourceFile};
use crate::source::model::hidden_files::HiddenFiles;
use crate::source::model::set::SourceSet;
use crate::source::parse_budget::can_parse;
use crate::source::shown_path::shown_path;

/// Content of a hidden file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HiddenContent {
    Overlay,
    Manifest,
    /// The template of a manifest in a Helm chart, which is not checked even if it is not hidden.
    ChartTemplate,
}

/// Files that git tracks in each repository, by its root; `None` if the index cannot be found.
type Repositories = HashMap<PathBuf, Option<Result<TrackedFiles, String>>>;

/// Adds tracked files that ignore files hide from the run to a set: the ignore files with the manifests that they hide,
/// or, for a rewrite, the overlays. In both cases, adds the ignore files for which the hidden files are unknown.
pub fn mark_hidden(set: &mut SourceSet, request: &Request, folders: &Folders) {
    if folders.hidden.is_empty() {
        return;
    }
    set.ignored_folders = ignored_folders(request, folders);
    let mut found = tracked_hidden(set, request, folders);
    if request.walk.tracked_hidden == TrackedHidden::Noted {
        found.retain(|_, found| found.is_ok());
    }
    if request.walk.tracked_hidden == TrackedHidden::Overlays {
        let mut paths: Vec<&Path> = found
            .values()
            .filter_map(|found| found.as_ref().ok())
            .flatten()
            .map(|(path, _)| path.as_path())
            .collect();
        paths.sort();
        set.hidden_overlays = paths
            .into_iter()
            .map(|path| overlay(path, request))
            .collect();
        found.retain(|_, found| found.is_err());
    }
    add_ignore_files(set, request, found);
}

/// Tracked files that the lines of ignore files hide, or the reason why they are unknown.
type Found<'f> = BTreeMap<&'f IgnoreRule, Result<Vec<(PathBuf, HiddenContent)>, String>>;

/// Returns the tracked files of the requested kind that are hidden from the run.
fn tracked_hidden<'f>(set: &SourceSet, request: &Request, folders: &'f Folders) -> Found<'f> {
    let content_of = match request.walk.tracked_hidden {
        TrackedHidden::None => return Found::new(),
        TrackedHidden::Manifests | TrackedHidden::Noted => kubernetes_content,
        TrackedHidden::Overlays => overlay_content,
    };
    let mut repositories = Repositories::new();
    let files = &request.filesystem;
    let read: HashSet<PathBuf> = set
        .files
        .iter()
        .flat_map(|file| paths_read(file, files))
        .collect();
    let mut found = Found::new();
    for (hidden, ignore_rule) in &folders.hidden {
        let folder = hidden.parent().unwrap_or(hidden);
        let Some(root) = files.repository_root(folder) else {
            continue;
        };
        let tracked = repositories
            .entry(root.to_path_buf())
            .or_insert_with(|| TrackedFiles::read(root, files));
        match tracked {
            Some(Ok(tracked)) => {
                let manifests = manifests(root, hidden, tracked);
                let unread: Vec<_> = manifests
                    .filter(|path| {
                        !is_read(&read, path, root, files) && !is_excluded(path, request)
                    })
                    .filter_map(|path| {
                        let content = content_of(&path, root, files)?;
                        Some((path, content))
                    })
                    .collect();
                if !unread.is_empty()
                    && let Ok(known) = found.entry(ignore_rule).or_insert_with(|| Ok(Vec::new()))
                {
                    known.extend(unread);
                }
            }
            // Report the failure once per repository.
            failed => {
                let reason = match failed.take() {
                    Some(Err(reason)) => reason,
                    _ => "git's index was not found".to_owned(),
                };
                found.entry(ignore_rule).or_insert(Err(reason));
                repositories.insert(root.to_path_buf(), Some(Ok(TrackedFiles::default())));
            }
        }
    }
    found
}

/// Returns the resolved paths that are read with a file: its own, and that of the target of a link. Omits a
/// kustomization that is the target of a link, because it is not read in its own folder.
fn paths_read(file: &SourceFile, files: &FileSystem) -> impl Iterator<Item = PathBuf> {
    let target = files
        .resolved_path(file)
        .filter(|path| !path.to_str().is_some_and(is_kustomization));
    files
        .identity_path(file)
        .into_iter()
        .chain(target)
        .map(Cow::into_owned)
}

/// Adds the ignore files to a set, with the files that they hide.
fn add_ignore_files(set: &mut SourceSet, request: &Request, found: Found<'_>) {
    let mut files: BTreeMap<&Path, Vec<HiddenFiles>> = BTreeMap::new();
    let mut texts: HashMap<&Path, Arc<str>> = HashMap::new();
    for (ignore_rule, paths) in found {
        let text = texts.entry(&ignore_rule.file).or_insert_with(|| {
            let files = &request.filesystem;
            let real = files.resolved_or_folded(&ignore_rule.file);
            let bytes = files.read_resolved(&real).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into()
        });
        let mut hidden = HiddenFiles {
            line: line_of(text, &ignore_rule.pattern),
            tracked: Ok(Vec::new()),
            templates: Vec::new(),
            is_noted: request.walk.tracked_hidden == TrackedHidden::Noted,
        };
        match paths {
            Ok(paths) => {
                let shown = |(path, content): (PathBuf, HiddenContent)| {
                    let shown = shown_path(&path, &request.working_directory);
                    (Arc::from(shown), content)
                };
                let (templates, manifests): (Vec<_>, Vec<_>) = paths
                    .into_iter()
                    .map(shown)
                    .partition(|(_, content)| *content == HiddenContent::ChartTemplate);
                hidden.templates = templates.into_iter().map(|(path, _)| path).collect();
                hidden.tracked = Ok(manifests.into_iter().map(|(path, _)| path).collect());
            }
            Err(reason) => hidden.tracked = Err(reason),
        }
        files.entry(&ignore_rule.file).or_default().push(hidden);
    }
    for (path, hides) in files {
        let shown = shown_path(path, &request.working_directory).into();
        let text = texts.remove(path).unwrap_or_default();
        let mut file = SourceFile::unparsed(shown, text, false);
        file.role = Role::Context;
        file.hides = hides;
        set.files.push(file);
    }
    set.files = SourceSet::new(std::mem::take(&mut set.files)).files;
}

/// Returns the tracked files with names of manifests that are at or below a hidden path.
fn manifests<'t>(
    root: &'t Path,
    hidden: &'t Path,
    tracked: &'t TrackedFiles,
) -> impl Iterator<Item = PathBuf> + 't {
    let below = hidden.strip_prefix(root).unwrap_or(hidden);
    let itself = tracked.contains(below).then(|| below.to_path_buf());
    itself
        .into_iter()
        .chain(tracked.below(below))
        .filter(|path| path.file_name().is_some_and(is_manifest))
        .map(|path| root.join(path))
}

/// Returns whether the run reads a file, under any name: a link to a file leads to the same objects. A linked
/// kustomization is a separate file, because its paths are relative to the folder of the link.
fn is_read(read: &HashSet<PathBuf>, path: &Path, root: &Path, files: &FileSystem) -> bool {
    let is_kustomization = || path.to_str().is_some_and(is_kustomization);
    let is_link_to_read = || {
        files.is_symlink(path)
            && !is_kustomization()
            && files
                .resolved_within(root, path, root)
                .is_ok_and(|real| read.contains(&real))
    };
    read.contains(path) || is_link_to_read()
}

fn is_excluded(path: &Path, request: &Request) -> bool {
    let exclude = &request.walk.exclude;
    exclude.excludes(&shown_path(path, &request.working_directory), false)
}

/// Larger hidden files (in bytes) are parsed only if they mention a manifest, and never as overlays.
const LARGE: usize = 1 << 20;

/// Returns the content of a file that contains a Kubernetes manifest, however its keys are written, or is a
/// kustomization; `None` for other files. Follows links within the repository at `root`, a resolved path.
fn kubernetes_content(path: &Path, root: &Path, files: &FileSystem) -> Option<HiddenContent> {
    // Opening a pipe would block the run.
    if !files.is_regular_small_file(path) {
        return None;
    }
    if path.to_str().is_some_and(is_kustomization) {
        return Some(HiddenContent::Manifest);
    }
    let bytes = read_within(path, root, files)?;
    let bytes = strip_utf16_zeros(&bytes);
    let is_template = || memmem::find(&bytes, b"{{").is_some() && files.is_in_chart(path);
    contains_manifest(&bytes).then(|| match is_template() {
        true => HiddenContent::ChartTemplate,
        false => HiddenContent::Manifest,
    })
}

/// Returns whether a text contains a Kubernetes manifest. A text that exceeds the memory limit of a run is not parsed:
/// then the words of a manifest are sufficient.
fn contains_manifest(bytes: &[u8]) -> bool {
    let budget = MemoryBudget::new(MemoryBudget::FLOOR);
    let is_large = bytes.len() > LARGE;
    if is_large && !mentions_manifest(bytes) {
        return false;
    }
    if !can_parse(bytes.len(), &budget) {
        return true;
    }
    let text = String::from_utf8_lossy(bytes);
    let mut file = SourceFile::unparsed(Arc::from("hidden.yaml"), Arc::from(text), true);
    file.parse_within(&budget);
    let is_manifest = |document: &Document| match &document.content {
        Content::Tree(_) => true,
        Content::Broken { kubernetes, .. } => *kubernetes,
        Content::Template => looks_like_kubernetes(bytes),
        Content::Empty | Content::Plain(_) | Content::NotKubernetes => {
            !document.ambiguities.is_empty()
        }
    };
    file.fault.is_some() || file.documents.iter().any(is_manifest)
}

/// Returns [`HiddenContent::Overlay`] if a file exists and is a kustomization, or mentions objects that deploy folders.
fn overlay_content(path: &Path, root: &Path, files: &FileSystem) -> Option<HiddenContent> {
    let has = |text: &[u8]| {
        let needles = ["kustomize.toolkit.fluxcd.io", "argoproj.io"];
        needles
            .into_iter()
            .any(|needle| memmem::find(text, needle.as_bytes()).is_some())
    };
    let is_named = path.to_str().is_some_and(is_kustomization);
    let is_overlay = files.is_regular_small_file(path)
        && (is_named || read_within(path, root, files).is_some_and(|text| has(&text)));
    is_overlay.then_some(HiddenContent::Overlay)
}

/// Returns a hidden overlay, without its text if it is large.
fn overlay(path: &Path, request: &Request) -> SourceFile {
    let files = &request.filesystem;
    let root = files.repository_root(path).unwrap_or(path);
    let text = read_within(path, root, files)
        .filter(|bytes| bytes.len() <= LARGE)
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let shown = shown_path(path, &request.working_directory);
    SourceFile::new(shown.into(), text.unwrap_or_default().into())
}

/// Reads a file through its resolved path, unless that is outside of the repository at `root`.
fn read_within(path: &Path, root: &Path, files: &FileSystem) -> Option<Vec<u8>> {
    let real = files.resolved_within(root, path, root).ok()?;
    files.read_resolved(&real).ok()
}
