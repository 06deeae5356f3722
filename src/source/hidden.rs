//! Manifests that git tracks and that an ignore file hides from the run: a change of one line in
//! `.ignore` must not switch the linter off unnoticed, nor an overlay off that depends on what a rewrite edits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use memchr::memmem;

use crate::yaml::Span;

use super::boundary::{repository_root, resolved_within};
use super::chart::is_in_chart;
use super::decode::narrow;
use super::document::{Content, Document, mentions_manifest};
use super::file::{Role, SourceFile, SourceSet};
use super::find::{Request, shown_path};
use super::folders::Folders;
use super::git::TrackedFiles;
use super::ignores::Hider;
use super::kustomization::{identity, is_kustomization, place_of};
use super::linked_kustomization::key_of;
use super::manifest_keys::looks_like_kubernetes;
use super::memory_budget::MemoryBudget;
use super::parse_budget::can_parse;
use super::read::{is_ordinary, read_resolved};
use super::walk::{TrackedHidden, is_manifest};

/// What a line of an ignore file hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenFiles {
    /// The line.
    pub line: Span,
    /// The manifests that git tracks, as shown to the user; why it is not known which these are.
    pub tracked: Result<Vec<Arc<str>>, String>,
    /// The templates of Helm charts with manifests that git tracks, as shown to the user.
    pub templates: Vec<Arc<str>>,
}

/// What a hidden file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HiddenContent {
    Overlay,
    Manifest,
    /// The source of a manifest in a Helm chart, which is not checked where nothing hides it either.
    ChartTemplate,
}

/// What git tracks in each repository, by its root; `None` where the index cannot be found.
type Repositories = HashMap<PathBuf, Option<Result<TrackedFiles, String>>>;

/// Adds to a set what ignore files hide from the run and git tracks: the ignore files with the manifests that they hide,
/// or, for a rewrite, the overlays. Ignore files of which it is not known what they hide are added in both cases.
pub fn mark_hidden(set: &mut SourceSet, request: &Request, folders: &Folders) {
    if folders.hidden.is_empty() {
        return;
    }
    let mut found = tracked_hidden(set, request, folders);
    if request.walk.tracked_hidden == TrackedHidden::Overlays {
        let hidden = found.values().filter_map(|found| found.as_ref().ok());
        let mut paths: Vec<&Path> = hidden.flatten().map(|(path, _)| path.as_path()).collect();
        paths.sort();
        let overlays = paths.into_iter().map(|path| overlay(path, request));
        set.hidden_overlays = overlays.collect();
        found.retain(|_, found| found.is_err());
    }
    add_ignore_files(set, request, found);
}

/// The tracked files that the lines of ignore files hide; why it is not known which these are.
type Found<'f> = BTreeMap<&'f Hider, Result<Vec<(PathBuf, HiddenContent)>, String>>;

/// Returns the tracked files that the request asks for and that are hidden from the run.
fn tracked_hidden<'f>(set: &SourceSet, request: &Request, folders: &'f Folders) -> Found<'f> {
    let content_of = match request.walk.tracked_hidden {
        TrackedHidden::None => return Found::new(),
        TrackedHidden::Manifests => kubernetes_content,
        TrackedHidden::Overlays => overlay_content,
    };
    let mut repositories = Repositories::new();
    let read: HashSet<PathBuf> = set.files.iter().flat_map(places_read).collect();
    let mut found = Found::new();
    for (hidden, hider) in &folders.hidden {
        let holder = hidden.parent().unwrap_or(hidden);
        let Some(root) = repository_root(holder) else {
            continue;
        };
        let tracked = repositories
            .entry(root.to_path_buf())
            .or_insert_with(|| TrackedFiles::read(root));
        match tracked {
            Some(Ok(tracked)) => {
                let manifests = manifests(root, hidden, tracked);
                let unread: Vec<_> = manifests
                    .filter(|path| !is_read(&read, path, root) && !is_excluded(path, request))
                    .filter_map(|path| {
                        let content = content_of(&path, root)?;
                        Some((path, content))
                    })
                    .collect();
                if !unread.is_empty()
                    && let Ok(known) = found.entry(hider).or_insert_with(|| Ok(Vec::new()))
                {
                    known.extend(unread);
                }
            }
            // Once is enough.
            failed => {
                let reason = match failed.take() {
                    Some(Err(reason)) => reason,
                    _ => "git's index was not found".to_owned(),
                };
                found.entry(hider).or_insert(Err(reason));
                repositories.insert(root.to_path_buf(), Some(Ok(TrackedFiles::default())));
            }
        }
    }
    found
}

/// Returns the place of a file that was read, and that of the text of a link. A kustomization that is the target of a link
/// is not read in its own folder.
fn places_read(file: &SourceFile) -> impl Iterator<Item = PathBuf> {
    let text = place_of(file).filter(|place| !place.to_str().is_some_and(is_kustomization));
    let places = key_of(file).into_iter().chain(text);
    places.map(Cow::into_owned)
}

/// Adds the ignore files to a set, with what they hide.
fn add_ignore_files(set: &mut SourceSet, request: &Request, found: Found<'_>) {
    let mut files: BTreeMap<&Path, Vec<HiddenFiles>> = BTreeMap::new();
    let mut texts: HashMap<&Path, Arc<str>> = HashMap::new();
    for (hider, paths) in found {
        let text = texts.entry(&hider.file).or_insert_with(|| {
            let bytes = read_resolved(&identity(&hider.file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into()
        });
        let mut hidden = HiddenFiles {
            line: line_of(text, &hider.pattern),
            tracked: Ok(Vec::new()),
            templates: Vec::new(),
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
        files.entry(&hider.file).or_default().push(hidden);
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

/// The tracked files with names of manifests that are, or are in, what is hidden.
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

/// Returns whether the run reads a file, also by another name: a link to a file leads to the same objects. A kustomization
/// that is a link is another one, because its paths start from the folder of the link.
fn is_read(read: &HashSet<PathBuf>, path: &Path, root: &Path) -> bool {
    let is_kustomization = || path.to_str().is_some_and(is_kustomization);
    let is_link_to_read = || {
        path.is_symlink()
            && !is_kustomization()
            && resolved_within(root, path, root).is_ok_and(|real| read.contains(&real))
    };
    read.contains(path) || is_link_to_read()
}

fn is_excluded(path: &Path, request: &Request) -> bool {
    let exclude = &request.walk.exclude;
    exclude.excludes(&shown_path(path, &request.working_directory), false)
}

/// Hidden files that are larger are only parsed if they mention a manifest; overlays are not parsed: bytes.
const LARGE: usize = 1 << 20;

/// Returns what a file contains that exists and contains a Kubernetes manifest, however its keys are written, or is a
/// kustomization. A link is followed within the repository at `root`, a resolved path.
fn kubernetes_content(path: &Path, root: &Path) -> Option<HiddenContent> {
    // A pipe that is opened blocks the run.
    if !is_ordinary(path) {
        return None;
    }
    if path.to_str().is_some_and(is_kustomization) {
        return Some(HiddenContent::Manifest);
    }
    let bytes = read_within(path, root)?;
    let bytes = narrow(&bytes);
    let is_template = || memmem::find(&bytes, b"{{").is_some() && is_in_chart(path);
    contains_manifest(&bytes).then(|| match is_template() {
        true => HiddenContent::ChartTemplate,
        false => HiddenContent::Manifest,
    })
}

/// Returns whether a text contains a Kubernetes manifest. If it exceeds the memory limit of a run, it is enough that it
/// mentions one.
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

/// Returns whether a file exists and is a kustomization, or mentions objects that deploy folders.
fn overlay_content(path: &Path, root: &Path) -> Option<HiddenContent> {
    let has = |text: &[u8]| {
        let needles = ["kustomize.toolkit.fluxcd.io", "argoproj.io"];
        needles
            .into_iter()
            .any(|needle| memmem::find(text, needle.as_bytes()).is_some())
    };
    let is_named = path.to_str().is_some_and(is_kustomization);
    let is_overlay =
        is_ordinary(path) && (is_named || read_within(path, root).is_some_and(|text| has(&text)));
    is_overlay.then_some(HiddenContent::Overlay)
}

/// Returns an overlay that is hidden; one that is large without its text.
fn overlay(path: &Path, request: &Request) -> SourceFile {
    let root = repository_root(path).unwrap_or(path);
    let text = read_within(path, root).filter(|bytes| bytes.len() <= LARGE);
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    let shown = shown_path(path, &request.working_directory);
    SourceFile::new(shown.into(), text.unwrap_or_default().into())
}

/// Reads a file by its resolved path, unless that is outside of the repository at `root`.
fn read_within(path: &Path, root: &Path) -> Option<Vec<u8>> {
    read_resolved(&resolved_within(root, path, root).ok()?).ok()
}

/// The last line of an ignore file that has this pattern: it is the one that counts.
fn line_of(text: &str, pattern: &str) -> Span {
    let mut start = 0;
    let mut found = Span::empty(0);
    for line in text.split_inclusive('\n') {
        if line.trim_start_matches('\u{feff}').trim_end() == pattern {
            let at = start + (line.len() - line.trim_start_matches('\u{feff}').len());
            found = Span::new(at, at + pattern.len());
        }
        start += line.len();
    }
    found
}
