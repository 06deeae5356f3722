//! The settings and files of a run, and what it prints about them to standard error.

use std::path::Path;
use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::settings::Layer;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{
    Content, Fault, Input, Request, Role, SharedFiles, SourceFile, SourceSet,
};

use crate::cli::args::Common;
use crate::cli::session::{OutputStream, Session};
use crate::cli::stop::Stop;
use crate::cli::terminal::{Progress, terminal_style};
use crate::cli::threads::{cores, pool};
use meshprobe_engine::engine;
use meshprobe_engine::engine::Exit;
use meshprobe_report as report;

/// What to do if no file is read.
pub(in crate::cli) const NOTHING_READ: &str = "pass the files (*.yaml, *.yml, *.json) or folders that contain the manifests; `--no-ignore` also reads files that \
     .gitignore hides";

/// The settings and files of a run.
pub(in crate::cli) struct Run {
    pub(in crate::cli) set: SourceSet,
    pub(in crate::cli) layer: Layer,
    /// The configuration file, as shown to the user.
    pub(in crate::cli) config: Option<String>,
    /// The paths and limits of the run.
    pub(in crate::cli) request: Request,
    /// A text is not the content of a file: it comes from standard input or from a renderer.
    pub(in crate::cli) from_stdin: bool,
    /// There is exactly one input: a file, standard input, or a rendering.
    pub(in crate::cli) single: bool,
    pub(super) pool: rayon::ThreadPool,
    pub(super) progress: Progress,
}

impl Run {
    /// Returns whether the `context` of the configuration file contains a file, given by its resolved path.
    pub(in crate::cli) fn names_in_context(&self, file: &Path) -> bool {
        let mut named = self.request.context.iter();
        named.any(|input| matches!(input, Input::Resolved(path) if file.starts_with(path)))
    }

    /// Returns whether no file is read. All files that a pre-commit hook names may be excluded.
    pub(in crate::cli) fn reads_nothing(&self) -> bool {
        self.set.targets().next().is_none() && !self.request.walk.force_exclude
    }

    /// Rejects a run that reads no file: it would look like one without findings.
    ///
    /// # Errors
    /// No file is read.
    pub(in crate::cli) fn reject_nothing_read(&self) -> Result<(), Stop> {
        match self.reads_nothing() {
            true => Err(Stop::usage("no manifest found: no file was read").help(NOTHING_READ)),
            false => Ok(()),
        }
    }

    /// Runs `work` on as many threads as the user allows.
    pub(in crate::cli) fn on_threads<T: Send>(
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
    pub(in crate::cli) fn read_again(
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
        Ok(Self {
            set,
            layer: self.layer.clone(),
            config: self.config.clone(),
            request,
            from_stdin: self.from_stdin,
            single: self.single,
            pool,
            progress,
        })
    }

    /// Returns the exit code that follows from reading: a failure if a path that the user named cannot be read, or if a
    /// rendering fails.
    pub(in crate::cli) fn exit(&self) -> Exit {
        let unread = !engine::unread_paths(&self.set).is_empty();
        let not_rendered =
            |file: &SourceFile| matches!(file.fault, Some(Fault::NotRendered { .. }));
        Exit::Success
            .or(unread, Exit::Failure)
            .or(self.set.files.iter().any(not_rendered), Exit::Failure)
    }
}

/// Prints each file with its kind if `--verbose` is given.
pub(in crate::cli) fn print_files(session: &Session, set: &SourceSet, common: &Common) {
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
pub(in crate::cli) fn print_findings(
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
