//! Loads two revisions of a git repository, or a revision and the working tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_tree::git::{ChangedPaths, Commit, GitError, HEAD, Repository, Side, Snapshot};
use meshprobe_tree::source::{SharedFiles, SourceSet, shown_path};

use super::super::args::DiffArgs;
use super::super::config::LoadedConfig;
use super::super::input::{RenderFallback, Run, prepare_in, print_files};
use super::super::paths::resolve_named_path;
use super::super::session::Session;
use super::super::stop::Stop;
use super::loaded::{
    Loaded, States, judged_both, judged_without_overrides, own_config, use_own_facts,
};
use super::rejected::{reject_revisions_as_paths, reject_stored_outside};
use meshprobe_engine::engine::{Exit, unread_paths};

/// The second state: its name, its files, and how git finds what differs from it.
struct After {
    name: String,
    files: Snapshot,
    side: Side,
}

/// Reads both states. A file that is equal in both is parsed once.
///
/// # Errors
/// The repository, a revision or an object cannot be read.
pub(super) fn load(session: &Session, args: &DiffArgs) -> Result<States, Stop> {
    reject_rendered(args)?;
    let directory = session.directory()?;
    let repository = repository(args, directory)?;
    reject_stored_outside(session, &repository)?;
    reject_revisions_as_paths(&repository, &args.common.paths, directory)?;
    let base = base(&repository, args)?;
    let after = after(&repository, args)?;
    let run = read_after(session, args, &repository, &after)?;
    let changed = repository.changed(&base, &after.side).map_err(stop)?;
    let mut notes = BTreeSet::new();
    let changed_paths = changed.clone();
    let other_files = changed.paths();
    let other_files = other_files.iter().map(|path| shown_path(path, directory));
    let other_files = other_files.collect();
    let (mut old, files, own) = read_before(session, args, &repository, &run, (&base, changed))?;
    let changed_config = own.and_then(|own| use_own_facts(args, &mut old, own, &run));
    print_files(session, &old.set, &args.common);
    for snapshot in [&after.files, &files] {
        reject_unread_objects(snapshot, directory)?;
        notes.extend(submodules(snapshot, directory));
    }
    // Everything is read.
    repository.end();
    let without_overrides = changed_config
        .as_ref()
        .and_then(|_| judged_without_overrides(session, args, (&old, &run)));
    let is_own_base =
        is_own_base(args, &base) && changed_config.is_none() && texts(&old.set).eq(texts(&run.set));
    let (old, new) = (Arc::new(old), Arc::new(run));
    let (old, new) = ((old, shown(&base)), (new, after.name));
    let (mut before, mut after) = judged_both(session, args, old, new)?;
    ignore_missing_paths(&mut before, &mut after);
    let other = other_repository(&repository, directory).into_iter();
    Ok(States {
        changed_config,
        without_overrides,
        notes: other.chain(notes).collect(),
        is_own_base,
        changed_paths,
        other_files,
        repository: (!repository.is_bare()).then(|| repository.root().to_path_buf()),
        ..States::new(before, after)
    })
}

/// Returns the repository of the paths, or of the working directory.
fn repository(args: &DiffArgs, directory: &Path) -> Result<Repository, Stop> {
    let paths = args.common.paths.iter();
    // A link of one repository must not select another one.
    let named = paths.map(|path| resolve_named_path("diff", path, directory));
    let named: Vec<PathBuf> = named.collect::<Result<_, _>>()?;
    let first = named.first().map_or(directory, PathBuf::as_path);
    let repository = Repository::discover(first).map_err(stop)?;
    if let Some(outer) = repository.superproject() {
        let root = shown_path(repository.root(), directory);
        let outer = shown_path(outer, directory);
        return Err(Stop::usage(format!(
            "`{root}` is a submodule, whose revisions are not those of the repository `{outer}`"
        ))
        .help(format!(
            "to compare revisions of the submodule, clone its repository outside of `{outer}`"
        )));
    }
    if repository.is_bare() && args.until.is_none() {
        return Err(
            Stop::usage("a bare repository has no working tree and no index")
                .help("name both revisions with `--since` and `--until`"),
        );
    }
    for (path, real) in args.common.paths.iter().zip(&named).skip(1) {
        let other = Repository::discover(real).map_err(stop)?;
        if other.root() != repository.root() {
            let (path, root) = (path.display(), repository.root().display());
            return Err(
                Stop::usage(format!("`{path}` is not in the repository `{root}`"))
                    .help("compare one repository at a time"),
            );
        }
    }
    Ok(repository)
}

/// Returns a note if the repository is not that of the working directory.
fn other_repository(repository: &Repository, directory: &Path) -> Option<String> {
    let is_other = !repository.is_nearest_to(directory);
    let root = shown_path(repository.root(), directory);
    is_other
        .then(|| format!("the compared repository is `{root}`, not that of the working directory"))
}

/// Rejects options that render or read something else than the files of a revision.
fn reject_rendered(args: &DiffArgs) -> Result<(), Stop> {
    if args.common.renders() || args.common.renders_charts_of_tree() {
        return Err(Stop::usage(
            "`--kustomize` and `--helm` cannot render the files of a revision",
        )
        .help("render both states, and compare the results with `meshprobe diff before.yaml after.yaml`"));
    }
    if args.common.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(
            Stop::usage("standard input (`-`) does not belong to a revision")
                .help("compare two files: `meshprobe diff before.yaml -`"),
        );
    }
    Ok(())
}

/// Returns the revision of the first state: that of `--since` if `--until` is given as well, otherwise the merge base
/// of the second state with `--since` or with the default branch, so that changes of that branch only are not shown.
fn base(repository: &Repository, args: &DiffArgs) -> Result<Commit, Stop> {
    let commit = match (&args.since, &args.until) {
        (Some(since), Some(_)) => repository.resolve(since),
        (Some(since), None) => repository
            .resolve(since)
            .and_then(|since| repository.base_with_head(&since)),
        (None, Some(until)) => repository
            .resolve(until)
            .and_then(|until| repository.default_base_of(&until)),
        (None, None) if args.staged => repository.head_or_empty_tree(),
        (None, None) => repository.default_base(),
    };
    commit.map_err(stop)
}

/// Returns whether the base follows from the default branch, and is the revision that is compared.
fn is_own_base(args: &DiffArgs, base: &Commit) -> bool {
    let compared = args.until.as_deref().unwrap_or(HEAD);
    args.since.is_none() && !args.staged && base.name == compared
}

fn texts(set: &SourceSet) -> impl Iterator<Item = (&str, &str)> {
    set.files.iter().map(|file| (&*file.path, &*file.text))
}

/// Returns the second state.
fn after(repository: &Repository, args: &DiffArgs) -> Result<After, Stop> {
    let after = match (&args.until, args.staged) {
        (Some(revision), _) => repository.resolve(revision).and_then(|commit| {
            Ok(After {
                name: shown(&commit),
                files: repository.snapshot(&commit)?,
                side: Side::Commit(commit),
            })
        }),
        (None, true) => repository.snapshot_of_index().map(|files| After {
            name: "the staged files".to_owned(),
            files,
            side: Side::Index,
        }),
        (None, false) => repository.snapshot_of_working_tree().map(|files| After {
            name: "the working tree".to_owned(),
            files,
            side: Side::WorkingTree,
        }),
    };
    after.map_err(stop)
}

fn read_after(
    session: &Session,
    args: &DiffArgs,
    repository: &Repository,
    after: &After,
) -> Result<Run, Stop> {
    let mut common = args.common.clone();
    if common.paths.is_empty() {
        common.paths.push(PathBuf::from("."));
    }
    let mut run = prepare_in(
        session,
        &common,
        RenderFallback::Files,
        None,
        session.limited(after.files.files()),
    )?;
    // A path that only the first state has leads to no root in the second.
    if run.request.roots.is_empty() && !common.no_context {
        run.request.roots.push(repository.root().to_path_buf());
    }
    print_files(session, &run.set, &common);
    Ok(run)
}

/// Reads the first state, and its configuration. Files that are equal in the second state are not read again.
fn read_before(
    session: &Session,
    args: &DiffArgs,
    repository: &Repository,
    run: &Run,
    (base, changed): (&Commit, ChangedPaths),
) -> Result<(Run, Snapshot, Option<LoadedConfig>), Stop> {
    let files = repository.snapshot(base).map_err(stop)?;
    let shared = SharedFiles::new(&run.set, changed);
    let limited = session.limited(files.files());
    let own = own_config(session, args, &limited, &shown(base))?;
    let context = own.as_ref().map(|own| &*own.context);
    let old = run.read_again(session, &args.common, (limited, context), shared)?;
    Ok((old, files, own))
}

/// Rejects a state of which an object of git cannot be read.
///
/// # Errors
/// There is such an object.
fn reject_unread_objects(snapshot: &Snapshot, directory: &Path) -> Result<(), Stop> {
    let Some((path, error)) = snapshot.failure() else {
        return Ok(());
    };
    let path = shown_path(&path, directory);
    let message = format!("cannot read `{path}`: {error}");
    Err(Stop::usage(message).help_if_any(error.help()))
}

/// Returns a note for each submodule.
fn submodules(snapshot: &Snapshot, directory: &Path) -> impl Iterator<Item = String> {
    let paths = snapshot.submodules().iter();
    let paths = paths.map(|path| shown_path(path, directory));
    paths.map(|path| {
        format!("submodule `{path}` is not compared: its files are those of the working tree in both states")
    })
}

fn stop(error: GitError) -> Stop {
    Stop::usage(error.to_string()).help_if_any(error.help())
}

/// Returns a revision for people, such as "`v1.2` (3c1f2a9)".
fn shown(commit: &Commit) -> String {
    let Commit { name, hash, short } = commit;
    if name == hash {
        return format!("`{short}`");
    }
    match name.contains(' ') {
        true => format!("the {name} ({short})"),
        false => format!("`{name}` ({short})"),
    }
}

/// A path that the user names and that only one state has is new or removed, which is not an error.
fn ignore_missing_paths(before: &mut Loaded, after: &mut Loaded) {
    let unread = |state: &Loaded| -> BTreeSet<Arc<str>> {
        unread_paths(&state.run.set).into_iter().collect()
    };
    let (old, new) = (unread(before), unread(after));
    let only = |own: &BTreeSet<Arc<str>>, other: &BTreeSet<Arc<str>>| -> BTreeSet<Arc<str>> {
        own.difference(other).cloned().collect()
    };
    for (state, own, other) in [(before, &old, &new), (after, &new, &old)] {
        let missing = only(own, other);
        let is_missing = |path: &Arc<str>| missing.contains(path);
        state
            .state
            .findings
            .retain(|finding| !is_missing(&finding.primary.path));
        state
            .state
            .not_judged
            .retain(|found| !is_missing(&found.place.path));
        if own.iter().all(is_missing) && !own.is_empty() {
            state.exit = Exit::Success;
        }
    }
}
