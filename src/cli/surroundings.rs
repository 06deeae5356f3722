//! Finds the folders whose files state facts about the inputs, although the user did not give them.

use std::path::{Path, PathBuf};

use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{ContextOption, Input, Request, canonical, relative_path};

use super::args::Common;
use super::session::Session;
use super::stop::Stop;

/// What limits the surroundings of the inputs.
pub(super) struct Limits<'a> {
    /// Whether the run ignores configuration files.
    pub(super) is_isolated: bool,
    /// The folder of the configuration file in use.
    pub(super) config: Option<PathBuf>,
    /// Whether that configuration declares its folder to be the root.
    pub(super) declares_root: bool,
    /// The folder into which the run writes copies.
    pub(super) output: Option<&'a Path>,
}

/// Adds the roots of the inputs to a request: the nearest folder with `.git`, or whose configuration declares it to be
/// the root; else the folder of the configuration in use.
///
/// # Errors
/// The working directory is not known.
pub(super) fn add(
    session: &Session,
    common: &Common,
    limits: &Limits<'_>,
    request: &mut Request,
) -> Result<(), Stop> {
    let has_stream = request
        .targets
        .iter()
        .any(|input| matches!(input, Input::Bytes { .. }));
    // A build that is piped, or that kustomize makes, contains the objects of the repository a second time.
    if common.no_context || has_stream || !common.kustomize.is_empty() {
        return Ok(());
    }
    let directory = session.directory()?;
    let home = home(session);
    let tree = session.tree();
    let mut homes = Vec::new();
    for path in paths(request, common) {
        let Some(root) = root((&request.filesystem, tree), &directory.join(path), limits) else {
            continue;
        };
        let known = if is_home(home.as_deref(), &root) {
            &mut homes
        } else {
            &mut request.roots
        };
        if !known.contains(&root) {
            known.push(root);
        }
    }
    if !homes.is_empty() && !common.quiet {
        session.errln(
            "note: the home directory is a repository and is not read for facts; name folders with `--context`",
        );
    }
    request.omitted.extend(limits.output.map(Path::to_path_buf));
    request.omitted.extend(common.charts().cloned());
    Ok(())
}

/// Returns the option `--context` of printed commands: the roots of the request, or else that of the working directory.
///
/// # Errors
/// The working directory is not known.
pub(super) fn context_option(
    session: &Session,
    limits: &Limits<'_>,
    request: &Request,
) -> Result<ContextOption, Stop> {
    let directory = session.directory()?;
    let mut roots = request.roots.clone();
    if roots.is_empty() {
        roots.extend(root(
            (&request.filesystem, session.tree()),
            directory,
            limits,
        ));
        let home = home(session);
        roots.retain(|root| !is_home(home.as_deref(), root));
    }
    let real = |path: &Path| canonical(path).unwrap_or_else(|_| path.to_path_buf());
    let directory = real(directory);
    let folders = roots
        .iter()
        .map(|root| relative_path(&real(root), &directory));
    Ok(ContextOption::of(folders))
}

fn home(session: &Session) -> Option<PathBuf> {
    session.variable("HOME").map(PathBuf::from)
}

fn is_home(home: Option<&Path>, root: &Path) -> bool {
    home.is_some_and(|home| is_same(home, root))
}

/// Returns the paths whose surroundings are read.
fn paths(request: &Request, common: &Common) -> Vec<PathBuf> {
    let targets = request.targets.iter().filter_map(|input| match input {
        Input::Path(path) | Input::Resolved(path) => Some(path),
        Input::Bytes { .. } | Input::Rendered(_) => None,
    });
    targets.chain(common.charts()).cloned().collect()
}

/// Returns the root of the tree that an absolute path belongs to; `tree` if no folder says that it is one.
fn root(
    (files, tree): (&FileSystem, Option<&Path>),
    path: &Path,
    limits: &Limits<'_>,
) -> Option<PathBuf> {
    let real = files.canonical(path).ok()?;
    // `..` after a link is the parent of the target of the link.
    let has_detour = path.components().any(|part| part.as_os_str() == "..");
    let spelled = if has_detour { &real } else { path };
    let folder = |path| folder(files, path);
    let root = files
        .tree_root(folder(spelled), limits.is_isolated)
        .or_else(|| files.tree_root(folder(&real), limits.is_isolated))
        .or_else(|| tree.map(Path::to_path_buf));
    let config = limits.config.as_deref();
    let config = config.filter(|config| spelled.starts_with(config));
    match (root, config) {
        (Some(root), Some(config)) if limits.declares_root && config.starts_with(&root) => {
            Some(config.to_path_buf())
        }
        (Some(root), _) => Some(root),
        (None, config) => config.map(Path::to_path_buf),
    }
}

/// Returns a folder itself, and the folder of a file.
fn folder<'p>(files: &FileSystem, path: &'p Path) -> &'p Path {
    match path.parent() {
        Some(parent) if !files.is_dir(path) => parent,
        _ => path,
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || canonical(one).is_ok_and(|one| canonical(other).is_ok_and(|other| one == other))
}

/// Returns the deepest folder that contains all given paths, as an absolute path. Returns `None` if the run reads no path.
pub(super) fn common_folder(
    common: &Common,
    (files, directory): (&FileSystem, &Path),
) -> Option<PathBuf> {
    let given = common.paths.iter().filter(|path| path.as_os_str() != "-");
    given
        .chain(&common.kustomize)
        .chain(common.charts())
        .filter_map(|path| files.canonical(&directory.join(path)).ok())
        .map(|path| folder(files, &path).to_path_buf())
        .reduce(|one, other| {
            let parts = one.components().zip(other.components());
            let shared = parts.take_while(|(one, other)| one == other);
            shared.map(|(part, _)| part).collect()
        })
}
