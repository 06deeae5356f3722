//! Submodules: folders of a revision whose content is stored in another repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use super::blobs::Blobs;
use super::command::Git;
use super::error::GitError;
use super::location::{Location, roots};
use super::names::{path_of, text};
use super::repository::Repository;
use super::tree::{GITLINK, LINK, Listed, Node, Object, Tree, list};

/// Maximum depth of nested submodules.
const DEPTH: usize = 8;

/// Builds the tree of a revision with the content of its submodules.
#[derive(Debug)]
pub(super) struct TreeBuilder<'r> {
    pub(super) tree: Tree,
    pub(super) repository: &'r Repository,
    /// Whether a checkout contains links; `None` if that was not needed yet.
    pub(super) has_links: Option<bool>,
    /// The submodules, with the folder of git of each.
    pub(super) submodules: Vec<Submodule>,
    /// The submodules whose content cannot be read, with the reason.
    pub(super) unread: Vec<(PathBuf, String)>,
}

/// A submodule whose content is read.
#[derive(Debug)]
pub(super) struct Submodule {
    /// Its path relative to the root of the revision.
    pub(super) path: PathBuf,
    pub(super) git_folder: PathBuf,
}

impl TreeBuilder<'_> {
    /// Adds the files of a repository at `top`, relative to the root. `git_folders` may contain the folder `modules`.
    pub(super) fn add(
        &mut self,
        (git, blobs): (&Git, &Arc<Blobs>),
        git_folders: &[&Path],
        top: &Path,
        listed: &[Listed],
        depth: usize,
    ) -> Result<(), GitError> {
        let mut links = Vec::new();
        let modules = listed
            .iter()
            .find(|listed| listed.path.as_os_str() == ".gitmodules");
        let modules = modules.map(|listed| listed.object.clone());
        for Listed { path, mode, object } in listed {
            let path = top.join(path);
            let object = Object {
                name: object.clone(),
                blobs: Arc::clone(blobs),
            };
            match mode.as_str() {
                GITLINK => links.push((path, object.name)),
                LINK if self.has_links()? => self.tree.add(&path, Node::Link(object)),
                _ => self.tree.add(&path, Node::File(object)),
            }
        }
        if links.is_empty() {
            return Ok(());
        }
        let names = match modules {
            Some(object) => module_names(git, &object)?,
            None => HashMap::new(),
        };
        for (path, commit) in links {
            let below = path.strip_prefix(top).unwrap_or(&path);
            let name = names.get(below).map_or(below, |name| Path::new(name));
            let name = name.to_path_buf();
            self.add_submodule(git_folders, &name, path, &commit, depth)?;
        }
        Ok(())
    }

    fn has_links(&mut self) -> Result<bool, GitError> {
        if let Some(known) = self.has_links {
            return Ok(known);
        }
        let found = self.repository.has_links()?;
        self.has_links = Some(found);
        Ok(found)
    }

    /// Adds the content of a submodule, if its commit is stored locally. A folder that is not initialized in the
    /// working tree either stays empty, as in a checkout.
    fn add_submodule(
        &mut self,
        git_folders: &[&Path],
        name: &Path,
        path: PathBuf,
        commit: &str,
        depth: usize,
    ) -> Result<(), GitError> {
        let on_disk = self.repository.root.join(&path);
        let found = repository_of(git_folders, name, &on_disk);
        let content = match found {
            Some(_) if depth >= DEPTH => Err("it is nested too deeply".to_owned()),
            Some((git, folder)) => match list(&git, commit) {
                Ok(listed) => Ok((git, folder, listed)),
                Err(error) => Err(error.to_string()),
            },
            None => Err("it is not cloned".to_owned()),
        };
        match content {
            Ok((git, git_folder, listed)) => {
                self.tree.add(&path, Node::Folder);
                self.submodules.push(Submodule {
                    path: path.clone(),
                    git_folder: git_folder.clone(),
                });
                let blobs = Arc::new(Blobs::new(git.clone()));
                self.add((&git, &blobs), &[&git_folder], &path, &listed, depth + 1)
            }
            Err(reason) => {
                let reason = format!("commit {commit} of the submodule cannot be read: {reason}");
                let is_initialized =
                    self.repository.is_bare || on_disk.join(".git").symlink_metadata().is_ok();
                let node = match is_initialized {
                    true => Node::Unread(reason.clone()),
                    false => Node::Folder,
                };
                self.tree.add(&path, node);
                self.unread.push((on_disk, reason));
                Ok(())
            }
        }
    }
}

/// Returns the repository that stores a submodule, with its folder of git: in that of the outer repository, or in the
/// working tree.
fn repository_of(git_folders: &[&Path], name: &Path, on_disk: &Path) -> Option<(Git, PathBuf)> {
    let is_normal = |part| matches!(part, std::path::Component::Normal(_));
    if name.components().all(is_normal) {
        let folders = git_folders
            .iter()
            .map(|folder| folder.join("modules").join(name));
        let found = folders
            .map(|folder| folder.join("HEAD"))
            .find(|head| head.is_file());
        if let Some(folder) = found.as_deref().and_then(Path::parent) {
            return Some((Git::in_git_folder(folder), folder.to_path_buf()));
        }
    }
    let on_disk = roots(on_disk).next().filter(|root| *root == on_disk)?;
    let found = Location::at(on_disk).ok()??;
    Some((found.git(), found.own))
}

/// Returns the names of the submodules by their paths, as `.gitmodules` of a revision declares them.
fn module_names(git: &Git, object: &str) -> Result<HashMap<PathBuf, String>, GitError> {
    let pattern = r"^submodule\..*\.path$";
    let output = git.output(&["config", "-z", "--blob", object, "--get-regexp", pattern])?;
    let entries = output.stdout.split(|byte| *byte == 0);
    Ok(entries
        .filter_map(|entry| {
            let end = entry.iter().position(|byte| *byte == b'\n')?;
            let key = text(entry.get(..end)?);
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            Some((path_of(entry.get(end + 1..)?), name.to_owned()))
        })
        .collect())
}
