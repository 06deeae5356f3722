//! Resolves the paths in a call, which must be below the roots.

use std::path::{Path, PathBuf};

use meshprobe_tree::filesystem::FileSystem;

use super::error::ToolError;
use super::roots::{Root, Roots, has_scheme, path_of_uri};

/// Paths below one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The root, a resolved path.
    pub(super) root: PathBuf,
    /// The paths, relative to the root.
    pub(super) paths: Vec<PathBuf>,
}

/// Resolves the paths of a call; without paths, returns the only root.
///
/// # Errors
/// A path is outside of the roots or does not exist, or the paths are below several roots.
pub(super) fn resolve(
    roots: &Roots,
    parameter: &str,
    paths: &[String],
) -> Result<Resolved, ToolError> {
    if paths.is_empty() {
        return match roots.folders.as_slice() {
            [root] => Ok(Resolved {
                root: root.real.clone(),
                paths: vec![PathBuf::from(".")],
            }),
            [] => Err(no_roots(roots)),
            _ => Err(ToolError::new(format!(
                "`{parameter}` is required, because there are several roots"
            ))
            .help(format!("name files or directories below {}", roots.shown()))),
        };
    }
    let mut found: Option<Resolved> = None;
    for text in paths {
        let (root, path) = resolve_one(roots, parameter, text)?;
        match &mut found {
            None => {
                found = Some(Resolved {
                    root: root.real.clone(),
                    paths: vec![path],
                });
            }
            Some(found) if found.root == root.real => found.paths.push(path),
            Some(_) => {
                return Err(ToolError::new(format!(
                    "the values of `{parameter}` are below several roots"
                ))
                .help("call the tool once for each root"));
            }
        }
    }
    found.ok_or_else(|| no_roots(roots))
}

fn no_roots(roots: &Roots) -> ToolError {
    let message = "no files may be read: the client grants no roots";
    match roots.problems.first() {
        Some(problem) => ToolError::new(format!("{message}: {problem}")),
        None => ToolError::new(message),
    }
    .help("pass the text of the manifests as `manifest`, or ask the user to start the server with `--root DIR`")
}

/// Returns the root of a path, and the path relative to it.
fn resolve_one<'r>(
    roots: &'r Roots,
    parameter: &str,
    text: &str,
) -> Result<(&'r Root, PathBuf), ToolError> {
    let invalid =
        |why: &str| ToolError::new(format!("invalid value `{text}` for `{parameter}`: {why}"));
    if text.is_empty() {
        return Err(invalid("expected a path, found an empty string"));
    }
    if text.contains('\0') {
        return Err(invalid("it contains a NUL character"));
    }
    let path = if has_scheme(text) {
        path_of_uri(text).map_err(invalid)?
    } else {
        PathBuf::from(text)
    };
    if roots.folders.is_empty() {
        return Err(no_roots(roots));
    }
    let mut inside = roots
        .folders
        .iter()
        .filter_map(|root| Some((root, below(root, &path)?)))
        .peekable();
    if inside.peek().is_none() {
        return Err(outside(roots, text));
    }
    let mut existing = inside.filter(|(root, below)| root.real.join(below).exists());
    match (existing.next(), existing.next()) {
        (Some(found), None) => Ok(found),
        // The deepest of several roots that contain each other would have the same file.
        (Some(found), Some(_)) if path.has_root() => Ok(found),
        (Some(_), Some(_)) => Err(invalid("it exists below several roots").help(format!(
            "pass an absolute path below one of {}",
            roots.shown()
        ))),
        (None, _) => Err(invalid("no such file or directory").help(format!(
            "paths are relative to the roots: {}",
            roots.shown()
        ))),
    }
}

/// Returns the path relative to a root; `None` if it leads out of the root. Paths outside are never accessed.
fn below(root: &Root, path: &Path) -> Option<PathBuf> {
    let relative = match path.has_root() || path.is_absolute() {
        true => path
            .strip_prefix(&root.real)
            .or_else(|_| path.strip_prefix(&root.given))
            .ok()?,
        false => path,
    };
    let files = FileSystem::default();
    let real = files
        .resolved_within(&root.real, relative, &root.real)
        .ok()?;
    let has_parents = relative.components().any(|part| part.as_os_str() == "..");
    // After a link, `..` is the parent of the target of the link.
    let below = if has_parents {
        real.strip_prefix(&root.real).ok()?
    } else {
        relative
    };
    let is_plain = below
        .components()
        .next()
        .is_some_and(|first| first.as_os_str() != "-");
    // A single `-` would be standard input.
    Some(if is_plain {
        below.to_path_buf()
    } else {
        Path::new(".").join(below)
    })
}

fn outside(roots: &Roots, text: &str) -> ToolError {
    ToolError::new(format!(
        "`{text}` is outside of the roots, so it is not read"
    ))
    .help(format!("the client grants {}", roots.shown()))
}
