//! `--baseline` and `--write-baseline`.

use std::path::{Path, PathBuf};

use crate::engine::{Outcome, write_report};
use crate::finding::{SuppressedBy, Suppression};
use crate::report::{Baseline, counted};
use crate::source::{Input, canonical, io_error_reason, read_text};

use super::args::CheckArgs;
use super::input::Run;
use super::session::Session;
use super::stop::Stop;

/// Writes the present findings. Entries of an existing file remain if their files are not below the given paths.
///
/// # Errors
/// The file cannot be written, or is not a baseline.
pub(super) fn write(
    session: &Session,
    run: &Run,
    file: &Path,
    outcome: &Outcome,
    quiet: bool,
) -> Result<(), Stop> {
    let directory = session.directory()?;
    let place = directory.join(file);
    let mut baseline = empty(&place, directory);
    if place.exists() {
        read(&mut baseline, &place, file, "--write-baseline")?;
    }
    let given = given(run, directory);
    baseline.update(&run.set, &outcome.findings, |path| is_below(path, &given));
    let text = baseline
        .text()
        .map_err(|error| Stop::usage(error.to_string()))?;
    let shown = file.display();
    write_report(&place, &text)
        .map_err(|why| Stop::usage(format!("cannot write `{shown}`: {why}")))?;
    if !quiet {
        let count = counted(baseline.count(), "finding");
        session.errln(&format!("Wrote {count} to {shown}."));
    }
    Ok(())
}

/// Moves the findings of a baseline to the suppressed ones. Prints a note if entries no longer occur.
///
/// # Errors
/// The file cannot be read, or is not a baseline.
pub(super) fn apply(
    session: &Session,
    run: &Run,
    file: &Path,
    args: &CheckArgs,
    outcome: &mut Outcome,
) -> Result<(), Stop> {
    let directory = session.directory()?;
    let place = directory.join(file);
    let mut baseline = empty(&place, directory);
    read(&mut baseline, &place, file, "--baseline")?;
    let shown = file.display().to_string();
    let reason = Suppression {
        by: SuppressedBy::Baseline,
        reason: String::new(),
        path: shown.as_str().into(),
        line: 1,
    };
    let given = given(run, directory);
    let stale = baseline.apply(&run.set, outcome, &reason, |path| is_below(path, &given));
    // Options that hide findings also hide those of the baseline.
    let is_limited = !args.select.is_empty()
        || !args.ignore.is_empty()
        || args.min_severity.is_some()
        || !args.environments.overlay.is_empty();
    if stale > 0 && !is_limited && !args.common.quiet {
        let (count, verb) = (
            counted(stale, "finding"),
            if stale == 1 { "occurs" } else { "occur" },
        );
        session.errln(&format!(
            "note: {count} of the baseline `{shown}` no longer {verb}; run `meshprobe check --write-baseline {shown}`"
        ));
    }
    Ok(())
}

fn empty(place: &Path, directory: &Path) -> Baseline {
    let real = |path: &Path| canonical(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = place.parent().map_or_else(|| directory.to_path_buf(), real);
    Baseline::new(&real(directory), &folder)
}

fn read(baseline: &mut Baseline, place: &Path, file: &Path, option: &str) -> Result<(), Stop> {
    let shown = file.display();
    let text = read_text(place).map_err(|error| {
        let why = io_error_reason(&error);
        Stop::usage(format!("cannot read `{shown}` for `{option}`: {why}"))
            .help(format!("write it with `--write-baseline {shown}`"))
    })?;
    baseline
        .read(&text)
        .map_err(|why| Stop::usage(format!("`{shown}` is not a baseline: {why}")))
}

/// Returns the resolved paths that the user gave.
fn given(run: &Run, directory: &Path) -> Vec<PathBuf> {
    let targets = run.request.targets.iter();
    let paths = targets.filter_map(|input| match input {
        Input::Path(path) | Input::Resolved(path) => Some(directory.join(path)),
        Input::Bytes { .. } | Input::Rendered(_) => None,
    });
    paths.map(|path| canonical(&path).unwrap_or(path)).collect()
}

fn is_below(path: &Path, given: &[PathBuf]) -> bool {
    given.iter().any(|given| path.starts_with(given))
}
