//! Reads the settings and the files that the arguments name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{self, Exit};
use crate::filesystem::FileSystem;
use crate::finding::{Finding, Severity};
use crate::mesh::Version;
use crate::report;
use crate::settings::{FailOn, Layer};
use crate::source::{
    Content, Exclude, Fault, Input, Rendered, RenderedChart, Request, Role, SharedFiles,
    SourceFile, SourceSet, TrackedHidden, WalkOptions,
};

use super::args::Common;
use super::config::{self, LoadedConfig};
use super::progress::Progress;
use super::render;
use super::session::{OutputStream, Session};
use super::stop::Stop;
use super::surroundings;
use super::terminal::{is_ci, terminal_style};
use super::threads::{cores, pool};

/// The settings and files of a run.
pub(super) struct Run {
    pub(super) set: SourceSet,
    pub(super) layer: Layer,
    /// The configuration file, as shown to the user.
    pub(super) config: Option<String>,
    /// The paths and limits of the run.
    pub(super) request: Request,
    /// A text is not the content of a file: it comes from standard input or from a renderer.
    pub(super) from_stdin: bool,
    /// There is exactly one input: a file, standard input, or a rendering.
    pub(super) single: bool,
    pool: rayon::ThreadPool,
    progress: Progress,
}

impl Run {
    /// Runs `work` on as many threads as the user allows.
    pub(super) fn on_threads<T: Send>(
        &self,
        session: &Session,
        work: impl FnOnce() -> T + Send,
    ) -> T {
        self.progress
            .during(session, "analysing", || self.pool.install(work))
    }

    /// Reads the same paths from another file system, with the same settings and, if it is given, another `context` of the
    /// configuration file. `shared` are files of this run that are equal there.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn read_again(
        &self,
        session: &Session,
        common: &Common,
        (filesystem, context): (FileSystem, Option<&[Input]>),
        shared: SharedFiles,
    ) -> Result<Self, Stop> {
        let mut request = Request {
            filesystem,
            shared: Some(Arc::new(shared)),
            ..self.request.clone()
        };
        if let Some(context) = context {
            request.context = context.to_vec();
            let named = common.context.iter().cloned().map(Input::Path);
            request.context.extend(named);
        }
        let pool = pool(common.threads.map_or_else(cores, usize::from))?;
        let progress = Progress::new(session, common);
        let load = || engine::load(&request);
        let mut set = progress.during(session, "reading files", || pool.install(load));
        set.context_option = self.set.context_option.clone();
        // The shared files would keep both states in memory.
        request.shared = None;
        Ok(self.of_state(set, request, pool, progress))
    }

    /// Returns a run with the same settings.
    fn of_state(
        &self,
        set: SourceSet,
        request: Request,
        pool: rayon::ThreadPool,
        progress: Progress,
    ) -> Self {
        Self {
            set,
            layer: self.layer.clone(),
            config: self.config.clone(),
            request,
            from_stdin: self.from_stdin,
            single: self.single,
            pool,
            progress,
        }
    }

    /// Reads the files at these resolved paths from another file system, which has the same paths and equal contents of all
    /// other files. Returns `None` if other files must be read again as well.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn with_changed_contents(
        &self,
        session: &Session,
        common: &Common,
        filesystem: FileSystem,
        paths: &[PathBuf],
    ) -> Result<Option<Self>, Stop> {
        // The memory limit counts all files.
        if self.request.max_parsed.is_some() {
            return Ok(None);
        }
        let Some(set) = self.set.with_changed_contents(paths, &filesystem) else {
            return Ok(None);
        };
        let pool = pool(common.threads.map_or_else(cores, usize::from))?;
        let request = Request {
            filesystem,
            ..self.request.clone()
        };
        let progress = Progress::new(session, common);
        Ok(Some(self.of_state(set, request, pool, progress)))
    }

    /// Returns the exit code that follows from reading: a failure if a path that the user named cannot be read, or if a
    /// rendering fails.
    pub(super) fn exit(&self) -> Exit {
        let unread = !engine::unread_paths(&self.set).is_empty();
        let not_rendered =
            |file: &SourceFile| matches!(file.fault, Some(Fault::NotRendered { .. }));
        Exit::Success
            .or(unread, Exit::Failure)
            .or(self.set.files.iter().any(not_rendered), Exit::Failure)
    }
}

/// The input that replaces a rendering that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RenderFallback {
    /// The files that would be rendered.
    Files,
    /// Nothing: a rewrite of these files was not requested.
    Nothing,
}

/// Whether a run is a gate. A gate reports the tracked files that ignore files hide from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// `--fail-on` is given.
    Yes,
    /// A gate if the configuration contains `failOn`, or in CI.
    IfConfigured,
    /// The command edits files, and overlays that are hidden from it may depend on them.
    Rewrite,
    /// The command does not report findings of `check`.
    No,
}

/// Reads the settings and the files of a run, which writes copies to `output`.
///
/// # Errors
/// An option, a path or the configuration file is invalid.
pub(super) fn prepare(
    session: &Session,
    common: &Common,
    fallback: RenderFallback,
    gate: Gate,
    output: Option<&Path>,
) -> Result<Run, Stop> {
    prepare_in(
        session,
        common,
        (fallback, gate),
        output,
        session.files().clone(),
    )
}

/// Reads the settings and the files of a run from `filesystem`.
///
/// # Errors
/// An option, a path or the configuration file is invalid.
pub(super) fn prepare_in(
    session: &Session,
    common: &Common,
    (fallback, gate): (RenderFallback, Gate),
    output: Option<&Path>,
    filesystem: FileSystem,
) -> Result<Run, Stop> {
    let directory = session.directory()?;
    let Planned {
        layer,
        config,
        mut request,
        limits,
    } = plan(session, common, (fallback, gate), output, filesystem)?;
    let pool = pool(common.threads.map_or_else(cores, usize::from))?;
    let from_stdin = request
        .targets
        .iter()
        .any(|input| matches!(input, Input::Bytes { .. } | Input::Rendered(_)));
    let single = match request.targets.as_slice() {
        [Input::Path(path)] => !request.filesystem.is_dir(&directory.join(path)),
        [Input::Bytes { .. } | Input::Rendered(_)] => true,
        _ => false,
    };
    let progress = Progress::new(session, common);
    let load = |request: &Request| {
        let load = || engine::load(request);
        progress.during(session, "reading files", || pool.install(load))
    };
    let mut set = load(&request);
    if layer.renders_charts == Some(true) && fallback == RenderFallback::Files {
        let settings = layer.resolved(FailOn::default());
        let rendered = progress.during(session, "rendering charts", || {
            pool.install(|| render::tree_charts(session, &engine::chart_runs(&set, &settings)))
        });
        if !rendered.is_empty() {
            add_charts(session, common, rendered, &mut request);
            set = load(&request);
        }
    }
    set.context_option = surroundings::context_option(session, &limits, &request)?;
    let mut checked = set
        .files
        .iter()
        .filter(|file| file.role != Role::Repository);
    if checked.next().is_none() && !common.quiet {
        session.errln("warning: no manifest found (*.yaml, *.yml, *.json)");
    }
    Ok(Run {
        set,
        layer,
        config,
        request,
        from_stdin,
        single,
        pool,
        progress,
    })
}

/// The settings of a run, and the files to read.
pub(super) struct Planned<'a> {
    pub(super) layer: Layer,
    /// The configuration file, as shown to the user.
    pub(super) config: Option<String>,
    pub(super) request: Request,
    pub(super) limits: surroundings::Limits<'a>,
}

/// Reads the settings of a run from `filesystem`, which also contains the files to read.
///
/// # Errors
/// An option, a path or the configuration file is invalid.
pub(super) fn plan<'a>(
    session: &Session,
    common: &Common,
    (fallback, gate): (RenderFallback, Gate),
    output: Option<&'a Path>,
    filesystem: FileSystem,
) -> Result<Planned<'a>, Stop> {
    let directory = session.directory()?;
    let LoadedConfig {
        layer,
        context,
        folder,
        shown,
    } = config::load_config(common, directory, &filesystem)?;
    check_release(session, &layer, common)?;
    let mut request = request(session, common, context, fallback)?;
    request.filesystem = filesystem;
    let limits = surroundings::Limits {
        is_isolated: common.isolated,
        config: folder,
        declares_root: layer.root == Some(true),
        output,
    };
    surroundings::add(session, common, &limits, &mut request)?;
    request.walk.tracked_hidden = match gate {
        Gate::Yes => TrackedHidden::Manifests,
        Gate::IfConfigured if layer.fail_on.is_some() || is_ci(session) => TrackedHidden::Manifests,
        Gate::Rewrite => TrackedHidden::Overlays,
        Gate::IfConfigured => TrackedHidden::Noted,
        Gate::No => TrackedHidden::None,
    };
    Ok(Planned {
        layer,
        config: shown,
        request,
        limits,
    })
}

/// Adds the outputs of charts to a request. A failure that only affects facts is a note.
fn add_charts(session: &Session, common: &Common, rendered: Vec<Rendered>, request: &mut Request) {
    for rendered in rendered {
        let chart = rendered.chart.as_deref();
        let (all, any) = chart.map_or((true, true), RenderedChart::targets);
        match &rendered.outcome {
            Err(why) if !any => {
                if !common.quiet {
                    session.errln(&format!("note: facts may be missing: {why}"));
                }
            }
            Ok(_) if !all => request.context.push(Input::Rendered(rendered.into())),
            _ => request.targets.push(Input::Rendered(rendered.into())),
        }
    }
}

/// Rejects a release that does not belong to Istio 1, and prints a note for a release that is older than those
/// that are modelled. `mesh_version` is a release of Istio unless the settings name another mesh.
fn check_release(session: &Session, layer: &Layer, common: &Common) -> Result<(), Stop> {
    let (first, last) = (Version::FIRST_ISTIO, Version::LAST_ISTIO);
    let about_istio = layer.mesh.unwrap_or_default().may_be_istio();
    let Some(version) = layer.mesh_version.filter(|_| about_istio) else {
        return Ok(());
    };
    if version.major != last.major {
        return Err(Stop::usage(format!(
            "`{version}` is not a release of Istio; expected {first} to {last}"
        ))
        .help(
            "set the release with `--mesh-version`, or with `mesh.version` in the configuration",
        ));
    }
    let first_modelled = Version::FIRST_MODELLED_ISTIO;
    if version < first_modelled && !common.quiet {
        session.errln(&format!(
            "note: Istio {version} is older than {first_modelled}, the oldest release that meshprobe models; predictions \
             may be wrong"
        ));
    }
    Ok(())
}

fn request(
    session: &Session,
    common: &Common,
    mut context: Vec<Input>,
    fallback: RenderFallback,
) -> Result<Request, Stop> {
    let directory = session.directory()?;
    let exclude = Exclude::new(common.exclude.iter().map(String::as_str))
        .map_err(|error| Stop::usage(format!("invalid value for `--exclude`: {error}")))?;
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
        if run.rendered.outcome.is_err() && fallback == RenderFallback::Files {
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
            isolated: common.isolated,
        },
        roots: Vec::new(),
        omitted: Vec::new(),
        max_rendered: common.max_rendered,
        max_parsed: common.max_parsed,
        ..Request::default()
    })
}

fn input(session: &Session, path: &Path, common: &Common, directory: &Path) -> Result<Input, Stop> {
    if path.as_os_str().is_empty() {
        return Err(Stop::usage("expected a path, found an empty string"));
    }
    if path.as_os_str() != "-" {
        return Ok(Input::Path(path.to_path_buf()));
    }
    let bytes = Progress::new(session, common)
        .during(session, "reading standard input", || session.read_stdin())?;
    if bytes.trim_ascii().is_empty() {
        // A chart may render nothing. The note is also printed with `--quiet`, because nothing is checked.
        session.errln("note: standard input is empty");
        session.errln("help: check whether the command before `|` failed");
    }
    let filename = common.stdin_filename.as_deref();
    Ok(Input::Bytes {
        name: Arc::from(filename.unwrap_or("stdin")),
        bytes: bytes.into(),
        disk_path: filename.map(|name| directory.join(name)),
    })
}

/// Removes the files from a run that an earlier run has copied into `directory`.
pub(super) fn exclude_earlier_copies(run: &mut Run, directory: &Path) {
    let request = &run.request;
    run.set.files.retain(|file| {
        let location = file.location.as_deref();
        !location.is_some_and(|path| engine::is_earlier_copy(request, directory, path))
    });
}

/// Prints each file with its kind if `--verbose` is given.
pub(super) fn print_files(session: &Session, set: &SourceSet, common: &Common) {
    if common.verbose {
        for file in &set.files {
            let context = match file.role {
                Role::Target => "",
                Role::Context | Role::Repository => " (context)",
            };
            session.errln(&format!("{}: {}{context}", file.path, kinds(file)));
        }
    }
}

/// Prints findings to standard error, without notes if `--quiet` is given.
pub(super) fn print_findings(
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
    let shown: Vec<Finding> = findings
        .iter()
        .filter(|finding| finding.severity >= least)
        .cloned()
        .collect();
    let style = terminal_style(session, OutputStream::Stderr, common.color);
    session.eprint(&report::full(set, &shown, style));
}

/// Returns the kinds of the documents of a file.
fn kinds(file: &SourceFile) -> String {
    let kinds: Vec<&str> = file
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
        None => kinds.join(", "),
    }
}
