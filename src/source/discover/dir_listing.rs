//! Lists all files below the paths that the user names, whether or not they are manifests.

use std::path::{Component, Path, PathBuf};

use crate::filesystem::FileSystem;
use crate::source::discover::request::{Input, Request};
use crate::source::discover::walk::walk_all;
use crate::source::discover::walk_entry::{LEADS_OUT, WalkEntry};
use crate::source::discover::walk_root::Root;
use crate::source::io_error::NO_SUCH_FILE;
use crate::source::shown_path::shown_path;

/// Maximum number of consecutive links to folders.
const LINKS: usize = 8;

/// File or link of the tree.
#[derive(Clone, Debug)]
pub struct TreeItem {
    /// Its path.
    pub path: PathBuf,
    /// Its path relative to the common folder of all paths that the user named.
    pub below: PathBuf,
    /// Its kind.
    pub kind: TreeKind,
}

/// Kind of an item of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// A file, or a link to one, with the resolved path.
    File(PathBuf),
    /// A link to a folder of the tree, with the path of the folder relative to the link.
    Link(PathBuf),
    /// An item that is not listed, with the reason: a link that is dangling, leads out of the repository or to a
    /// folder that contains it; a pipe, socket or device.
    Dangling(String),
    /// An item that cannot be read, with the reason.
    Fault(String),
}

/// Lists all files below the targets of a run, except for hidden ones, sorted by relative path, each path
/// once. For a link to a folder outside of the listed folders, lists the files of that folder.
#[must_use]
pub fn tree_items(request: &Request) -> Vec<TreeItem> {
    let files = &request.filesystem;
    let targets: Vec<(PathBuf, PathBuf)> = request
        .targets
        .iter()
        .filter_map(|target| match target {
            Input::Path(path) | Input::Resolved(path) => {
                let path = request.working_directory.join(path);
                // A link out of the repository is reported when files are read.
                let real = files.resolved_as_named(&path).ok()?;
                Some((path, real))
            }
            Input::Bytes { .. } | Input::Rendered(_) => None,
        })
        .filter(|(path, real)| {
            let shown = shown_path(path, &request.working_directory);
            let options = &request.walk;
            !(options.force_exclude && options.exclude.excludes(&shown, files.is_dir(real)))
        })
        .collect();
    let root = common(targets.iter().map(|(path, real)| folder(path, real, files)));
    let mut tree = Tree {
        request,
        folders: Vec::new(),
        items: Vec::new(),
        links: Vec::new(),
    };
    for (target, real) in &targets {
        let parent = folder(target, real, files);
        let within = parent.strip_prefix(&root).unwrap_or(Path::new(""));
        if files.is_dir(real) {
            tree.folders.push((parent.clone(), within.to_path_buf()));
            tree.walk(target, parent.clone(), within);
        } else {
            let top = target.parent().unwrap_or(target);
            let resolved = |_: &Path| real.clone();
            tree.add(WalkEntry::File(target.clone()), resolved, top, within);
        }
    }
    for _ in 0..LINKS {
        let links = std::mem::take(&mut tree.links);
        for (path, below) in links {
            tree.follow(path, below);
        }
    }
    for (path, below) in std::mem::take(&mut tree.links) {
        let kind = TreeKind::Dangling("it leads through too many links".to_owned());
        tree.items.push(TreeItem { path, below, kind });
    }
    let mut items = tree.items;
    items.sort_by(|a, b| a.below.cmp(&b.below));
    items.dedup_by(|a, b| a.below == b.below);
    items
}

struct Tree<'r> {
    request: &'r Request,
    /// The listed folders: resolved path and relative path.
    folders: Vec<(PathBuf, PathBuf)>,
    items: Vec<TreeItem>,
    /// The links to folders that are not visited yet: path and relative path.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Tree<'_> {
    /// Lists the files below `top`, which has the relative path `within`.
    fn walk(&mut self, top: &Path, real: PathBuf, within: &Path) {
        let shown = |path: &Path| shown_path(path, &self.request.working_directory);
        let root = Root::resolved(
            top,
            real,
            &self.request.working_directory,
            &self.request.filesystem,
        );
        for walked in walk_all(&root, &self.request.walk, shown) {
            self.add(walked, |path| root.real(path), top, within);
        }
    }

    fn add(
        &mut self,
        walked: WalkEntry,
        real: impl Fn(&Path) -> PathBuf,
        top: &Path,
        within: &Path,
    ) {
        let (path, kind) = match walked {
            WalkEntry::File(path) => {
                let kind = TreeKind::File(real(&path));
                (path, Some(kind))
            }
            WalkEntry::Link(path, real) => (path, Some(TreeKind::File(real))),
            WalkEntry::FolderLink(path, _) => (path, None),
            WalkEntry::DanglingLink(path) => {
                (path, Some(TreeKind::Dangling(NO_SUCH_FILE.to_owned())))
            }
            WalkEntry::Unopened(path, reason) => (path, Some(TreeKind::Dangling(reason))),
            WalkEntry::Fault(path, reason) => (path, Some(TreeKind::Fault(reason))),
            WalkEntry::Hidden(..) => return,
        };
        let below = within.join(path.strip_prefix(top).unwrap_or(&path));
        match kind {
            Some(kind) => self.items.push(TreeItem { path, below, kind }),
            None => self.links.push((path, below)),
        }
    }

    /// Adds a link to a folder as a link if the folder is listed; otherwise lists the files of the folder.
    fn follow(&mut self, path: PathBuf, below: PathBuf) {
        let real = self.request.filesystem.resolved_or_folded(&path);
        let place = self.folders.iter().find_map(|(folder, within)| {
            let rest = real.strip_prefix(folder).ok()?;
            Some(within.join(rest))
        });
        let is_listed =
            |place: &PathBuf| self.items.iter().any(|item| item.below.starts_with(place));
        if let Some(place) = place.filter(is_listed) {
            let kind = TreeKind::Link(link_target(&below, &place));
            self.items.push(TreeItem { path, below, kind });
            return;
        }
        if self
            .folders
            .iter()
            .any(|(folder, _)| folder.starts_with(&real))
        {
            let kind = TreeKind::Dangling("it leads to a folder that contains it".to_owned());
            self.items.push(TreeItem { path, below, kind });
            return;
        }
        if let Some(reason) = self.leads_out(&path, &real) {
            let kind = TreeKind::Dangling(reason.to_owned());
            self.items.push(TreeItem { path, below, kind });
            return;
        }
        self.folders.push((real.clone(), below.clone()));
        // Do not resolve the link again: it may have changed since.
        self.walk(&path, real, &below);
    }

    /// Returns the reason why a link is not followed, if there is one. A link may lead to any path in its repository;
    /// without a repository, to the tree and its siblings. `l -> /` must not copy the disk.
    fn leads_out(&self, path: &Path, real: &Path) -> Option<&'static str> {
        let files = &self.request.filesystem;
        let folder = path.parent();
        let folder = folder.map(|folder| files.resolved_or_folded(folder));
        let folder = folder.unwrap_or_default();
        if let Some(root) = files.repository_root(&folder) {
            return (!real.starts_with(root)).then_some(LEADS_OUT);
        }
        let tree = common(self.folders.iter().map(|(folder, _)| folder.clone()));
        let parent = tree.parent().filter(|parent| parent.parent().is_some());
        let is_near = parent.is_some_and(|parent| real.starts_with(parent));
        (!is_near).then_some("it leads far out of the tree")
    }
}

/// Returns the path of `to` relative to the folder of the link `from`. Both are relative to the same folder.
fn link_target(from: &Path, to: &Path) -> PathBuf {
    let folder: Vec<Component<'_>> = from
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .collect();
    let target: Vec<Component<'_>> = to.components().collect();
    let shared = folder
        .iter()
        .zip(&target)
        .take_while(|(a, b)| a == b)
        .count();
    let up = folder.iter().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(target.into_iter().skip(shared)).collect();
    if path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        path
    }
}

/// Returns the resolved path of a target that is a folder, or of the folder of a file.
fn folder(target: &Path, real: &Path, files: &FileSystem) -> PathBuf {
    if files.is_dir(real) {
        return real.to_path_buf();
    }
    files.resolved_or_folded(target.parent().unwrap_or(target))
}

/// Returns the deepest common folder.
fn common(folders: impl Iterator<Item = PathBuf>) -> PathBuf {
    let common_of_two = |a: PathBuf, b: PathBuf| -> PathBuf {
        a.components()
            .zip(b.components())
            .take_while(|(a, b)| a == b)
            .map(|(part, _)| part)
            .collect()
    };
    folders.reduce(common_of_two).unwrap_or_default()
}
