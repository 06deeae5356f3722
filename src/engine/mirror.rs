//! Copies a tree with its changed files to another folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source::{Input, Request, TreeFile, reason, shown_path, tree_files};

use super::changed::Changed;
use super::write::{WriteFailure, replace};

/// A copy that was made.
#[derive(Debug, Default)]
pub struct Mirror {
    /// How many files were written.
    pub files: usize,
    /// Those that could not be read or written.
    pub failures: Vec<WriteFailure>,
}

/// One file and where its copy goes.
struct Copy {
    file: TreeFile,
    to: PathBuf,
}

/// Copies every file below the targets of `request` into `directory`, `changed` ones with their
/// new text. Places are kept relative to the folder that holds all targets; permissions are kept,
/// links become files. What lies below `directory` itself is left out. Each file is written whole
/// or not at all.
///
/// # Errors
/// In words, before anything is written, where a copy would take the place of a file of the tree.
pub fn mirror_all(
    request: &Request,
    changed: &[Changed],
    directory: &Path,
) -> Result<Mirror, String> {
    let directory = request.working_directory.join(directory);
    let texts: BTreeMap<PathBuf, &Changed> = changed
        .iter()
        .filter_map(|file| Some((file.location.as_deref()?.canonicalize().ok()?, file)))
        .collect();
    let mut copies = Vec::new();
    let mut done = Mirror::default();
    for file in files_of(request, &directory) {
        match file {
            Ok(file) => copies.push(Copy {
                to: directory.join(&file.below),
                file,
            }),
            Err(failure) => done.failures.push(failure),
        }
    }
    let sources: Vec<&PathBuf> = copies.iter().map(|copy| &copy.file.identity).collect();
    for copy in &copies {
        if let Ok(there) = copy.to.canonicalize()
            && sources.contains(&&there)
        {
            let shown = shown_path(&copy.to, &request.working_directory);
            return Err(format!("the copy of {shown} would take its own place"));
        }
    }
    for copy in copies {
        let text = texts.get(&copy.file.identity).map(|file| &*file.after);
        match copy.write(text) {
            Ok(()) => done.files += 1,
            Err(reason) => done.failures.push(WriteFailure {
                path: Arc::from(shown_path(&copy.to, &request.working_directory)),
                reason,
            }),
        }
    }
    Ok(done)
}

/// Tells whether `path` lies in `directory` while the tree that is read goes beyond it: such
/// files are copies of an earlier run.
#[must_use]
pub fn is_earlier_copy(request: &Request, directory: &Path, path: &Path) -> bool {
    let Ok(directory) = request.working_directory.join(directory).canonicalize() else {
        return false;
    };
    let is_named = request.targets.iter().any(|target| match target {
        Input::Path(named) => {
            let named = request.working_directory.join(named).canonicalize();
            named.is_ok_and(|named| named.starts_with(&directory))
        }
        Input::Bytes { .. } | Input::Rendered(_) => false,
    });
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    !is_named && parent.is_some_and(|parent| parent.starts_with(&directory))
}

fn files_of(
    request: &Request,
    directory: &Path,
) -> impl Iterator<Item = Result<TreeFile, WriteFailure>> {
    tree_files(request)
        .into_iter()
        .filter(move |file| {
            let path = match file {
                Ok(file) => &file.path,
                Err((path, _)) => path,
            };
            !is_earlier_copy(request, directory, path)
        })
        .map(move |file| {
            file.map_err(|(path, reason)| WriteFailure {
                path: Arc::from(shown_path(&path, &request.working_directory)),
                reason,
            })
        })
}

impl Copy {
    fn write(&self, text: Option<&str>) -> Result<(), String> {
        let words = |error: std::io::Error| reason(&error);
        let bytes = match text {
            Some(text) => text.as_bytes().to_vec(),
            None => fs::read(&self.file.path).map_err(words)?,
        };
        let permissions = fs::metadata(&self.file.path).map_err(words)?.permissions();
        let folder = self.to.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(folder).map_err(words)?;
        replace(folder, &self.to, &bytes, Some(permissions)).map_err(words)
    }
}
