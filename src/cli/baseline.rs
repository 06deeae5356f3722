//! `--baseline` and `--write-baseline`.

use std::path::{Path, PathBuf};

use meshprobe_mesh::finding::{SuppressedBy, Suppression};
use meshprobe_mesh::settings::Layer;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{Input, Request, SourceSet, canonical, io_error_reason};

use super::args::CheckArgs;
use super::input::Run;
use super::session::Session;
use super::stop::Stop;
use meshprobe_engine::engine::{Outcome, unread_paths, write_report};
use meshprobe_report::{Baseline, counted};

/// The maximum number of stale entries that a note lists.
const NAMED: usize = 10;

/// Writes the present findings. Entries of an existing file remain if their files are not below the given paths.
///
/// # Errors
/// A path that the user named cannot be read, or the file cannot be written or is not a baseline.
pub(super) fn write(
    session: &Session,
    run: &Run,
    file: &Path,
    outcome: &Outcome,
    quiet: bool,
) -> Result<(), Stop> {
    reject_unread(run, file)?;
    let directory = session.directory()?;
    let place = directory.join(file);
    let mut baseline = empty(&run.request, &place, directory);
    if place.exists() {
        read(&mut baseline, &place, file, "--write-baseline")?;
    }
    let given = given(&run.request, directory);
    baseline.update(&run.set, &outcome.findings, |path| is_below(path, &given));
    let text = baseline
        .text()
        .map_err(|error| Stop::usage(error.to_string()))?;
    let shown = file.display();
    write_report(&place, &text)
        .map_err(|why| Stop::usage(format!("cannot write `{shown}`: {why}")))?;
    if !quiet {
        let count = counted(baseline.count(), "finding");
        session.errln(&format!("Wrote {count} to `{shown}`."));
    }
    Ok(())
}

/// Rejects a run that could not read a path that the user named: its findings are not complete.
fn reject_unread(run: &Run, file: &Path) -> Result<(), Stop> {
    let unread = unread_paths(&run.set);
    if unread.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = unread.iter().map(|path| format!("`{path}`")).collect();
    let (shown, names) = (file.display(), names.join(", "));
    let message = format!("cannot write the baseline `{shown}`: cannot read {names}");
    Err(Stop::usage(message).help("correct the path; a baseline contains all findings of a run"))
}

/// The findings that a baseline contains, and the paths of the run.
pub(super) struct Known {
    baseline: Baseline,
    /// How the file is shown; `None` without a baseline.
    shown: Option<String>,
    given: Vec<PathBuf>,
}

impl Known {
    /// Reads the file of `--baseline`, or else of the key `baseline` in the configuration.
    ///
    /// # Errors
    /// The file cannot be read, or is not a baseline.
    pub(super) fn read(
        session: &Session,
        (layer, request): (&Layer, &Request),
        args: &CheckArgs,
    ) -> Result<Self, Stop> {
        let directory = session.directory()?;
        let configured = layer.baseline.as_ref().map(PathBuf::from);
        let (file, option) = match (&args.baseline, &configured) {
            (Some(file), _) => (Some(file), "--baseline"),
            (None, configured) => (configured.as_ref(), "baseline"),
        };
        // The file that `--write-baseline` replaces does not have to exist.
        let file = file.filter(|_| args.write_baseline.is_none());
        let place = directory.join(file.map_or(Path::new(""), PathBuf::as_path));
        let mut baseline = empty(request, &place, directory);
        if let Some(file) = file {
            read(&mut baseline, &place, file, option)?;
        }
        Ok(Self {
            baseline,
            shown: file.map(|file| file.display().to_string()),
            given: given(request, directory),
        })
    }

    /// Suppresses the findings of the baseline.
    pub(super) fn suppress(&self, set: &SourceSet, outcome: &mut Outcome) {
        let Some(shown) = &self.shown else {
            return;
        };
        let by = Suppression {
            by: SuppressedBy::Baseline,
            reason: String::new(),
            path: shown.as_str().into(),
            line: 1,
        };
        self.baseline.suppress(set, outcome, &by);
    }

    /// Prints a note with the entries that no longer occur.
    pub(super) fn report_stale(
        &self,
        session: &Session,
        args: &CheckArgs,
        set: &SourceSet,
        outcome: &Outcome,
    ) {
        // Options that hide findings also hide those of the baseline.
        let is_limited = !args.select.is_empty()
            || !args.ignore.is_empty()
            || args.min_severity.is_some()
            || !args.environments.names().is_empty();
        let Some(shown) = self
            .shown
            .as_ref()
            .filter(|_| !is_limited && !args.common.quiet)
        else {
            return;
        };
        let is_given = |path: &Path| is_below(path, &self.given);
        let stale = self.baseline.stale(set, outcome, is_given);
        let count: usize = stale.values().sum();
        if count == 0 {
            return;
        }
        let verb = if count == 1 { "occurs" } else { "occur" };
        session.errln(&format!(
            "note: {} of the baseline `{shown}` no longer {verb}; run `meshprobe check --write-baseline {shown}`",
            counted(count, "finding")
        ));
        for (entry, count) in stale.iter().take(NAMED) {
            let times = match count {
                1 => String::new(),
                count => format!(", {count} times"),
            };
            session.errln(&format!("  {entry}{times}"));
        }
        let more: usize = stale.values().skip(NAMED).sum();
        if more > 0 {
            session.errln(&format!("  and {more} more"));
        }
    }
}

/// Returns a baseline without entries. `place` is the absolute path of its file.
fn empty(request: &Request, place: &Path, directory: &Path) -> Baseline {
    let real = |path: &Path| canonical(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = place.parent().map_or_else(|| directory.to_path_buf(), real);
    let mut baseline = Baseline::new(&real(directory), &folder);
    for path in named(request) {
        baseline.add_link(path, &real(&directory.join(path)));
    }
    baseline
}

/// Adds the entries of a file, which `key` names: an option, or a key of the configuration.
fn read(baseline: &mut Baseline, place: &Path, file: &Path, key: &str) -> Result<(), Stop> {
    let shown = file.display();
    let text = FileSystem::default().read_text(place).map_err(|error| {
        let why = io_error_reason(&error);
        Stop::usage(format!("cannot read `{shown}` for `{key}`: {why}"))
            .help(format!("write it with `--write-baseline {shown}`"))
    })?;
    baseline
        .read(&text)
        .map_err(|why| Stop::usage(format!("`{shown}` for `{key}` is not a baseline: {why}")))
}

/// Returns the paths that the user gave.
fn named(request: &Request) -> impl Iterator<Item = &Path> {
    request.targets.iter().filter_map(|input| match input {
        Input::Path(path) | Input::Resolved(path) => Some(path.as_path()),
        Input::Bytes { .. } | Input::Rendered(_) => None,
    })
}

/// Returns the resolved paths that the user gave.
fn given(request: &Request, directory: &Path) -> Vec<PathBuf> {
    let paths = named(request).map(|path| directory.join(path));
    paths.map(|path| canonical(&path).unwrap_or(path)).collect()
}

fn is_below(path: &Path, given: &[PathBuf]) -> bool {
    given.iter().any(|given| path.starts_with(given))
}
