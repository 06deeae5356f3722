//! From arguments to the files of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{self, Exit};
use crate::finding::{Finding, Severity};
use crate::mesh::Version;
use crate::report;
use crate::settings::{Layer, Mesh, MeshKind};
use crate::source::{
    Content, Exclude, Input, Request, SourceFile, SourceSet, TrackedHidden, WalkOptions,
    resolved_as_named, shown_path,
};

use super::STACK;
use super::args::Common;
use super::config::{self, Configured};
use super::output::Stop;
use super::progress::Progress;
use super::render;
use super::session::{Output, Session};
use super::terminal::{is_ci, look};

/// What every command starts from.
pub(super) struct Run {
    pub(super) set: SourceSet,
    pub(super) layer: Layer,
    /// What was asked for.
    pub(super) request: Request,
    /// There is a text that no file holds: standard input, or what was rendered.
    pub(super) from_stdin: bool,
    /// Exactly one path was named, and it is a file, standard input, or to be rendered.
    pub(super) single: bool,
    pool: rayon::ThreadPool,
    progress: Progress,
}

impl Run {
    /// Does the work on the threads that the user allows.
    pub(super) fn on_threads<T: Send>(
        &self,
        session: &Session,
        work: impl FnOnce() -> T + Send,
    ) -> T {
        self.progress
            .during(session, "judging", || self.pool.install(work))
    }

    /// How the process ends as far as reading goes.
    pub(super) fn exit(&self) -> Exit {
        let unread = !engine::unread_paths(&self.set).is_empty();
        Exit::Success.or(unread, Exit::Failure)
    }
}

/// What is read where rendering fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// The files as they stand.
    Files,
    /// Nothing: they are not what was asked for.
    Nothing,
}

/// Whether a run decides if a change passes: then what is hidden from it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// The user set a limit for it.
    Yes,
    /// Where the configuration sets one, and in CI.
    IfConfigured,
    /// The command edits files, and overlays that are hidden from it may depend on them.
    Rewrite,
    /// The command is not one for a gate.
    No,
}

/// Reads settings and files.
pub(super) fn prepare(
    session: &Session,
    common: &Common,
    instead: Instead,
    gate: Gate,
) -> Result<Run, Stop> {
    let directory = session.directory()?;
    let Configured { layer, context } = config::configured(common, directory)?;
    check_release(session, &layer, common)?;
    let mut request = request(session, common, context, instead)?;
    request.walk.tracked_hidden = match gate {
        Gate::Yes => TrackedHidden::Manifests,
        Gate::IfConfigured if layer.fail_on.is_some() || is_ci(session) => TrackedHidden::Manifests,
        Gate::Rewrite => TrackedHidden::Overlays,
        Gate::IfConfigured | Gate::No => TrackedHidden::None,
    };
    let pool = pool(common.threads.map_or_else(cores, usize::from))?;
    let from_stdin = request
        .targets
        .iter()
        .any(|input| matches!(input, Input::Bytes { .. } | Input::Rendered(_)));
    let single = match request.targets.as_slice() {
        [Input::Path(path)] => !directory.join(path).is_dir(),
        [Input::Bytes { .. } | Input::Rendered(_)] => true,
        _ => false,
    };
    let progress = Progress::new(session, common);
    let set = progress.during(session, "reading files", || {
        pool.install(|| engine::load(&request))
    });
    if set.files.is_empty() && !common.quiet {
        session.errln("warning: no manifest found (*.yaml, *.yml, *.json)");
    }
    Ok(Run {
        set,
        layer,
        request,
        from_stdin,
        single,
        pool,
        progress,
    })
}

/// Refuses a release of Istio that cannot be, and says what a later one is taken for. What is said of
/// the release is about Istio unless another mesh is named.
fn check_release(session: &Session, layer: &Layer, common: &Common) -> Result<(), Stop> {
    let (first, last) = (Version::FIRST_ISTIO, Version::LAST_ISTIO);
    let about_istio = matches!(
        layer.mesh.unwrap_or_default(),
        MeshKind::Auto | MeshKind::Ambient | MeshKind::One(Mesh::Istio)
    );
    let Some(version) = layer.mesh_version.filter(|_| about_istio) else {
        return Ok(());
    };
    if version.major != last.major {
        return Err(Stop::usage(format!(
            "`{version}` is no release of Istio: {first} to {last} are known \
             (`--mesh-version`, or `mesh.version` in the configuration)"
        )));
    }
    if version > last && !common.quiet {
        session.errln(&format!(
            "note: Istio {version} is taken as {last}: what later releases change is not known"
        ));
    }
    Ok(())
}

/// The threads of a run; one where there are no more to be had, at worst the one that asks.
fn pool(threads: usize) -> Result<rayon::ThreadPool, Stop> {
    let of = |threads| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        builder.stack_size(STACK).build()
    };
    let this_one = || {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(1);
        builder.use_current_thread().build()
    };
    of(threads)
        .or_else(|_| of(1))
        .or_else(|_| this_one())
        .map_err(|error| Stop::usage(format!("cannot start threads: {error}")))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn request(
    session: &Session,
    common: &Common,
    mut context: Vec<Input>,
    instead: Instead,
) -> Result<Request, Stop> {
    let directory = session.directory()?;
    let exclude = Exclude::new(common.exclude.iter().map(String::as_str))
        .map_err(|error| Stop::usage(format!("--exclude: {error}")))?;
    let mut targets = Vec::new();
    for path in &common.paths {
        let stdin_again = path.as_os_str() == "-"
            && targets
                .iter()
                .any(|known| matches!(known, Input::Bytes { .. }));
        if stdin_again {
            return Err(Stop::usage("standard input (`-`) can be read only once"));
        }
        targets.push(input(session, path, common, directory)?);
    }
    for run in render::all(session, common)? {
        if run.rendered.outcome.is_err() && instead == Instead::Files {
            targets.push(Input::Path(run.asked));
        }
        targets.push(Input::Rendered(run.rendered.into()));
    }
    if targets.is_empty() {
        targets.push(Input::Path(PathBuf::from(".")));
    }
    context.extend(common.context.iter().cloned().map(Input::Path));
    Ok(Request {
        targets,
        context,
        working_directory: directory.to_path_buf(),
        walk: WalkOptions {
            no_ignore: common.no_ignore,
            exclude,
            force_exclude: common.force_exclude,
            tracked_hidden: TrackedHidden::None,
        },
        max_rendered: common.max_rendered,
        max_parsed: common.max_parsed,
    })
}

/// Returns the resolved path of what the user names for an option.
///
/// # Errors
/// Where a link of the repository leads it out of the repository.
pub(super) fn named(option: &str, path: &Path, directory: &Path) -> Result<PathBuf, Stop> {
    resolved_as_named(&directory.join(path)).map_err(|link| {
        let (path, link) = (path.display(), shown_path(&link, directory));
        Stop::usage(format!(
            "{option}: cannot read {path}: the link {link} leads out of the repository"
        ))
    })
}

fn input(session: &Session, path: &Path, common: &Common, directory: &Path) -> Result<Input, Stop> {
    if path.as_os_str().is_empty() {
        return Err(Stop::usage("an empty path was given"));
    }
    if path.as_os_str() != "-" {
        return Ok(Input::Path(path.to_path_buf()));
    }
    let bytes = Progress::new(session, common)
        .during(session, "reading standard input", || session.read_stdin())?;
    if bytes.trim_ascii().is_empty() {
        return Err(Stop::usage(
            "standard input is empty: did the command before `|` fail?",
        ));
    }
    let named = common.stdin_filename.as_deref();
    Ok(Input::Bytes {
        name: Arc::from(named.unwrap_or("stdin")),
        bytes: bytes.into(),
        lies_at: named.map(|name| directory.join(name)),
    })
}

/// With `--verbose`: what each file was taken for.
pub(super) fn tell_files(session: &Session, set: &SourceSet, common: &Common) {
    if common.verbose {
        for file in &set.files {
            session.errln(&format!("{}: {}", file.path, taken_for(file)));
        }
    }
}

/// Tells what was found beside the result; with `--quiet`, notes are left out.
pub(super) fn tell_findings(
    session: &Session,
    set: &SourceSet,
    findings: &[Finding],
    common: &Common,
) {
    let least = if common.quiet {
        Severity::Warning
    } else {
        Severity::Note
    };
    let told: Vec<Finding> = findings
        .iter()
        .filter(|finding| finding.severity >= least)
        .cloned()
        .collect();
    let look = look(session, Output::Stderr, common.color);
    session.eprint(&report::human(set, &told, look));
}

fn taken_for(file: &SourceFile) -> String {
    let names: Vec<&str> = file
        .documents
        .iter()
        .map(|document| match document.content {
            Content::Empty => "empty",
            Content::Tree(_) if document.patch => "patch of a kustomization",
            Content::Tree(_) if document.encrypted => "encrypted",
            Content::Tree(_) => "Kubernetes",
            Content::Plain(_) | Content::NotKubernetes => "not Kubernetes",
            Content::Template => "template",
            Content::Broken { .. } => "broken",
        })
        .collect();
    match file.fault {
        Some(_) => "not read".into(),
        None => names.join(", "),
    }
}
