//! The streams, the working directory and the environment of a run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::io::{ErrorKind, IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use meshprobe_tree::filesystem::{Confinement, FileSystem};
use meshprobe_tree::source::{io_error_reason, read_stream};

use super::stop::Stop;
use meshprobe_report as report;
use meshprobe_report::{Report, escape_commands, escape_control};

/// The streams, the working directory and the environment of one run.
pub struct Session {
    stdin: Mutex<Stream<Box<dyn Read + Send>>>,
    stdout: Mutex<Stream<Box<dyn Write + Send>>>,
    stderr: Mutex<Stream<Box<dyn Write + Send>>>,
    directory: io::Result<PathBuf>,
    variables: BTreeMap<OsString, OsString>,
    files: FileSystem,
    confinement: Option<Confinement>,
    tree: Option<PathBuf>,
    ends_process: bool,
    /// The report, for a caller that takes it instead of its text.
    report: Option<Mutex<Option<Report>>>,
}

struct Stream<T> {
    inner: T,
    terminal: bool,
}

impl<T> Stream<T> {
    fn new(inner: T, terminal: bool) -> Mutex<Self> {
        Mutex::new(Self { inner, terminal })
    }
}

impl Session {
    /// Returns the streams, the working directory and the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let terminals = (
            stdin.is_terminal(),
            stdout.is_terminal(),
            stderr.is_terminal(),
        );
        Self {
            stdin: Stream::new(Box::new(stdin), terminals.0),
            stdout: Stream::new(Box::new(stdout), terminals.1),
            stderr: Stream::new(Box::new(stderr), terminals.2),
            directory: std::env::current_dir(),
            variables: std::env::vars_os().collect(),
            files: FileSystem::default(),
            confinement: None,
            tree: None,
            ends_process: true,
            report: None,
        }
    }

    /// Returns a session with an empty environment and no terminal, in `directory`, an absolute path.
    #[must_use]
    pub fn new(
        directory: PathBuf,
        stdin: impl Read + Send + 'static,
        stdout: impl Write + Send + 'static,
        stderr: impl Write + Send + 'static,
    ) -> Self {
        debug_assert!(directory.is_absolute(), "{}", directory.display());
        Self {
            stdin: Stream::new(Box::new(stdin), false),
            stdout: Stream::new(Box::new(stdout), false),
            stderr: Stream::new(Box::new(stderr), false),
            directory: Ok(directory),
            variables: BTreeMap::new(),
            files: FileSystem::default(),
            confinement: None,
            tree: None,
            ends_process: false,
            report: None,
        }
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Limits the files that the run reads. Facts come from all files below `tree`, a resolved path, unless a repository
    /// or a configuration below it limits them.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub(super) fn confined(mut self, confinement: Confinement, tree: PathBuf) -> Self {
        self.files = confinement.of(FileSystem::default());
        self.confinement = Some(confinement);
        self.tree = Some(tree);
        self
    }

    /// Keeps the report of the run as data, instead of writing its JSON to standard output.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub(super) fn keeping_report(mut self) -> Self {
        self.report = Some(Mutex::default());
        self
    }

    /// Returns the report that was kept.
    #[cfg(feature = "mcp")]
    pub(super) fn take_report(&self) -> Option<Report> {
        locked(self.report.as_ref()?).take()
    }

    /// Keeps a report, or writes its JSON to standard output.
    pub(super) fn print_json(&self, report: Report) -> Result<(), Stop> {
        if let Some(kept) = &self.report {
            *locked(kept) = Some(report);
            return Ok(());
        }
        let text = match &report {
            Report::Check(report) => report::json(report),
            Report::Predict(report) => report::json(report),
            Report::Changes(report) => report::json(report),
        };
        let text = text.map_err(|error| Stop::usage(error.to_string()))?;
        self.print_data(&text)
    }

    /// Returns the files that the run reads.
    pub(super) const fn files(&self) -> &FileSystem {
        &self.files
    }

    /// Limits another state of the files as the files of the run are.
    pub(super) fn limited(&self, files: FileSystem) -> FileSystem {
        match &self.confinement {
            Some(confinement) => confinement.of(files),
            None => files,
        }
    }

    /// Returns whether the run may read below a resolved path.
    pub(super) fn may_read(&self, path: &Path) -> bool {
        let confinement = self.confinement.as_ref();
        confinement.is_none_or(|confinement| confinement.contains(path))
    }

    /// Returns the folder that facts come from if no repository contains an input.
    pub(super) fn tree(&self) -> Option<&Path> {
        self.tree.as_deref()
    }

    /// Returns the value of an environment variable.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// Returns all environment variables.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let variables = self.variables.iter();
        variables
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Returns whether a variable is set and not empty, as no-color.org defines it.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }

    /// Returns whether the output is written to the log of a CI system that executes commands in it.
    pub(super) fn log_has_commands(&self) -> bool {
        ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"]
            .iter()
            .any(|name| self.is_set(name))
    }

    /// Returns a command that runs another program in the working directory and the environment of
    /// this session.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.variables);
        if let Ok(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    /// Returns the working directory.
    ///
    /// # Errors
    /// The system could not return it.
    pub(super) fn directory(&self) -> Result<&Path, Stop> {
        self.directory.as_deref().map_err(|error| {
            let why = io_error_reason(error);
            Stop::usage(format!("cannot find the working directory: {why}"))
        })
    }

    /// Returns whether the streams are those of the process.
    pub(super) fn is_process(&self) -> bool {
        self.ends_process
    }

    pub(super) fn stdin_is_terminal(&self) -> bool {
        locked(&self.stdin).terminal
    }

    pub(super) fn is_terminal(&self, stream: OutputStream) -> bool {
        locked(self.stream(stream)).terminal
    }

    /// Reads standard input to its end.
    pub(super) fn read_stdin(&self) -> Result<Vec<u8>, Stop> {
        read_stream(&mut locked(&self.stdin).inner).map_err(|error| {
            Stop::usage(format!(
                "cannot read standard input: {}",
                io_error_reason(&error)
            ))
        })
    }

    /// Writes a report to a stream. Commands of CI systems in a report for people are escaped; the writer of a report for
    /// programs leaves only its own ones.
    pub(super) fn write_report(
        &self,
        stream: OutputStream,
        text: &str,
        audience: Audience,
    ) -> Result<(), Stop> {
        match (stream, audience) {
            (OutputStream::Stdout, Audience::People) => self.print_text(text),
            (OutputStream::Stdout, Audience::Programs) => self.print_data(text),
            (OutputStream::Stderr, Audience::People) => {
                self.eprint(text);
                Ok(())
            }
            (OutputStream::Stderr, Audience::Programs) => {
                self.write_to_stderr(text);
                Ok(())
            }
        }
    }

    fn print(&self, text: &str) -> Result<(), Stop> {
        let out = &mut locked(&self.stdout).inner;
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Stop::ClosedPipe),
            Err(error) => Err(Stop::usage(format!(
                "cannot write to standard output: {}",
                io_error_reason(&error)
            ))),
        }
    }

    /// Writes text for people to standard output. Commands of CI systems in it are escaped.
    pub(super) fn print_text(&self, text: &str) -> Result<(), Stop> {
        self.print(&self.for_log(text))
    }

    /// Writes text for programs to standard output, such as JSON. Its writer escapes commands of CI systems.
    pub(super) fn print_data(&self, text: &str) -> Result<(), Stop> {
        self.print(text)
    }

    /// Writes manifests to standard output without changes.
    pub(super) fn print_manifests(&self, text: &str) -> Result<(), Stop> {
        self.print(text)
    }

    /// Returns text without commands of the CI system that the run belongs to, so that it can be written to its log.
    pub(super) fn for_log<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.log_has_commands() {
            escape_commands(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Writes a manifest to standard output, and returns whether there is one. A part of a manifest is never written,
    /// because the next program would read it as the whole.
    pub(super) fn print_whole(&self, text: Option<&str>) -> Result<bool, Stop> {
        self.print_manifests(text.unwrap_or_default())?;
        Ok(text.is_some())
    }

    /// Writes text for people to standard error. Commands of CI systems in it are escaped.
    pub(super) fn eprint(&self, text: &str) {
        self.write_to_stderr(&self.for_log(text));
    }

    fn write_to_stderr(&self, text: &str) {
        // If standard error is closed, the failure cannot be reported anywhere.
        let _ = locked(&self.stderr).inner.write_all(text.as_bytes());
    }

    /// Writes a line to standard error, with control characters made visible.
    pub(super) fn errln(&self, line: &str) {
        self.eprint(&format!("{}\n", escape_control(line)));
    }

    /// Drops `values`, unless the process ends after this run: the system reclaims the memory of a process faster than
    /// the allocator frees each value.
    pub(super) fn release<T>(&self, values: T) {
        if self.ends_process {
            std::mem::forget(values);
        }
    }

    fn stream(&self, stream: OutputStream) -> &Mutex<Stream<Box<dyn Write + Send>>> {
        match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        }
    }
}

/// Who reads a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    People,
    Programs,
}

/// A stream that the program writes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum OutputStream {
    Stdout,
    Stderr,
}

/// Locks a stream, which stays usable after a panic while it was locked.
fn locked<T>(stream: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that keeps the bytes that are written to it. Clones share the bytes.
#[derive(Clone, Default)]
pub(super) struct Capture(Arc<Mutex<Vec<u8>>>);

impl Capture {
    /// Returns what was written; bytes that are not UTF-8 are replaced.
    pub(super) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
