//! All files below what the user names, manifests or not.

use std::path::{Component, Path, PathBuf};

use super::boundary::{repository_root, resolved_as_named};
use super::find::{Input, NO_SUCH_FILE, Request, shown_path};
use super::kustomization::identity;
use super::walk::{LEADS_OUT, Met, Root, walk_all};

/// How often links to folders may lead on.
const LINKS: usize = 8;

/// Something of the tree.
#[derive(Clone, Debug)]
pub struct TreeItem {
    /// Where it lies.
    pub path: PathBuf,
    /// Its place relative to the folder that holds everything the user named.
    pub below: PathBuf,
    /// What it is.
    pub kind: TreeKind,
}

/// What an item of the tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// A file, or a link to one; with the one spelling of where its bytes lie.
    File(PathBuf),
    /// A link to a folder of the tree; with the way there from the place of the link.
    Link(PathBuf),
    /// A link that leads nowhere, out of the repository or to what holds it; a pipe, socket or
    /// device; why it is left out.
    Dangling(String),
    /// It cannot be read; the reason in words.
    Fault(String),
}

/// Lists all files below the targets of a run that the walk does not hide, sorted by place, each
/// place once. Of a link to a folder outside of what is listed the files in it are.
#[must_use]
pub fn tree_items(request: &Request) -> Vec<TreeItem> {
    let targets: Vec<(PathBuf, PathBuf)> = request
        .targets
        .iter()
        .filter_map(|target| match target {
            Input::Path(path) | Input::Resolved(path) => {
                let path = request.working_directory.join(path);
                // A link out of the repository is reported where files are read.
                let real = resolved_as_named(&path).ok()?;
                Some((path, real))
            }
            Input::Bytes { .. } | Input::Rendered(_) => None,
        })
        .filter(|(path, real)| {
            let shown = shown_path(path, &request.working_directory);
            let options = &request.walk;
            !(options.force_exclude && options.exclude.excludes(&shown, real.is_dir()))
        })
        .collect();
    let root = common(targets.iter().map(|(path, real)| folder(path, real)));
    let mut tree = Tree {
        request,
        folders: Vec::new(),
        items: Vec::new(),
        links: Vec::new(),
    };
    for (target, real) in &targets {
        let holder = folder(target, real);
        let within = holder.strip_prefix(&root).unwrap_or(Path::new(""));
        if real.is_dir() {
            tree.folders.push((holder.clone(), within.to_path_buf()));
            tree.walk(target, holder.clone(), within);
        } else {
            let top = target.parent().unwrap_or(target);
            let resolved = |_: &Path| real.clone();
            tree.add(Met::File(target.clone()), resolved, top, within);
        }
    }
    for _ in 0..LINKS {
        let links = std::mem::take(&mut tree.links);
        for (path, below) in links {
            tree.follow(path, below);
        }
    }
    for (path, below) in std::mem::take(&mut tree.links) {
        let kind = TreeKind::Dangling("too many links lead on from here".to_owned());
        tree.items.push(TreeItem { path, below, kind });
    }
    let mut items = tree.items;
    items.sort_by(|a, b| a.below.cmp(&b.below));
    items.dedup_by(|a, b| a.below == b.below);
    items
}

struct Tree<'r> {
    request: &'r Request,
    /// The folders that are listed, by where they really lie, and their places.
    folders: Vec<(PathBuf, PathBuf)>,
    items: Vec<TreeItem>,
    /// Links to folders that are still to be looked at, with their places.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Tree<'_> {
    /// Lists what lies below `top`, which stands at `within`.
    fn walk(&mut self, top: &Path, real: PathBuf, within: &Path) {
        let shown = |path: &Path| shown_path(path, &self.request.working_directory);
        let root = Root::resolved(top, real, &self.request.working_directory);
        let met = walk_all(&root, &self.request.walk, shown);
        for one in met {
            self.add(one, |path| root.real(path), top, within);
        }
    }

    fn add(&mut self, met: Met, real: impl Fn(&Path) -> PathBuf, top: &Path, within: &Path) {
        let (path, kind) = match met {
            Met::File(path) => {
                let kind = TreeKind::File(real(&path));
                (path, Some(kind))
            }
            Met::Link(path, real) => (path, Some(TreeKind::File(real))),
            Met::FolderLink(path, _) => (path, None),
            Met::DanglingLink(path) => (path, Some(TreeKind::Dangling(NO_SUCH_FILE.to_owned()))),
            Met::Unopened(path, reason) => (path, Some(TreeKind::Dangling(reason))),
            Met::Fault(path, reason) => (path, Some(TreeKind::Fault(reason))),
            Met::Hidden(..) => return,
        };
        let below = within.join(path.strip_prefix(top).unwrap_or(&path));
        match kind {
            Some(kind) => self.items.push(TreeItem { path, below, kind }),
            None => self.links.push((path, below)),
        }
    }

    /// A link to a folder stays one where that is listed; else what is in the folder is listed.
    fn follow(&mut self, path: PathBuf, below: PathBuf) {
        let real = identity(&path);
        let place = self.folders.iter().find_map(|(folder, within)| {
            let rest = real.strip_prefix(folder).ok()?;
            Some(within.join(rest))
        });
        let is_listed = |place: &PathBuf| {
            let mut items = self.items.iter();
            items.any(|item| item.below.starts_with(place))
        };
        if let Some(place) = place.filter(is_listed) {
            let kind = TreeKind::Link(way(&below, &place));
            self.items.push(TreeItem { path, below, kind });
            return;
        }
        if self
            .folders
            .iter()
            .any(|(folder, _)| folder.starts_with(&real))
        {
            let kind = TreeKind::Dangling("it leads to a folder that holds it".to_owned());
            self.items.push(TreeItem { path, below, kind });
            return;
        }
        if let Some(why) = self.leads_out(&path, &real) {
            let kind = TreeKind::Dangling(why.to_owned());
            self.items.push(TreeItem { path, below, kind });
            return;
        }
        self.folders.push((real.clone(), below.clone()));
        // Not resolved again: the link may lead elsewhere by now.
        self.walk(&path, real, &below);
    }

    /// A link may lead anywhere in its repository; where there is none, to what lies beside the
    /// tree. `l -> /` must not copy the disk.
    fn leads_out(&self, path: &Path, real: &Path) -> Option<&'static str> {
        let holder = path.parent().map(identity).unwrap_or_default();
        if let Some(root) = repository_root(&holder) {
            return (!real.starts_with(root)).then_some(LEADS_OUT);
        }
        let around = common(self.folders.iter().map(|(folder, _)| folder.clone()));
        let beside = around.parent().filter(|above| above.parent().is_some());
        let stays = beside.is_some_and(|beside| real.starts_with(beside));
        (!stays).then_some("it leads far out of the tree")
    }
}

/// The way from a link at `from` to `to`, both relative to the same folder.
fn way(from: &Path, to: &Path) -> PathBuf {
    let folder: Vec<Component<'_>> = from
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .collect();
    let there: Vec<Component<'_>> = to.components().collect();
    let shared = folder
        .iter()
        .zip(&there)
        .take_while(|(one, other)| one == other)
        .count();
    let up = folder.iter().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(there.into_iter().skip(shared)).collect();
    if way.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        way
    }
}

/// The folder itself, or the one that a file is named in.
fn folder(target: &Path, real: &Path) -> PathBuf {
    if real.is_dir() {
        return real.to_path_buf();
    }
    identity(target.parent().unwrap_or(target))
}

/// The deepest folder that holds all of them.
fn common(folders: impl Iterator<Item = PathBuf>) -> PathBuf {
    let both = |one: PathBuf, other: PathBuf| -> PathBuf {
        let pairs = one.components().zip(other.components());
        pairs
            .take_while(|(one, other)| one == other)
            .map(|(one, _)| one)
            .collect()
    };
    folders.reduce(both).unwrap_or_default()
}
