//! What `check` has found, in the formats that the user wants: one on standard output, any number
//! in files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::engine::{Outcome, append_report, is_read, write_report};
use crate::report::{self, Hint, Look, Results, Root, SUMMARY_LIMIT};
use crate::settings::Settings;
use crate::source::{SourceSet, canonical};

use super::args::{CheckArgs, OutputFormat};
use super::output::Stop;
use super::session::Session;

/// The results of a run with the wishes of its user.
pub(super) struct Reports<'a> {
    session: &'a Session,
    args: &'a CheckArgs,
    root: Root,
    settings: &'a Settings,
}

impl<'a> Reports<'a> {
    /// Fails where a report cannot be what the user asks for.
    pub(super) fn new(
        session: &'a Session,
        args: &'a CheckArgs,
        settings: &'a Settings,
    ) -> Result<Self, Stop> {
        let directory = session.directory()?;
        let mut wrong = Vec::new();
        for (number, report) in args.reports.iter().enumerate() {
            let mut before = args.reports.iter().take(number);
            if before.any(|other| {
                is_same_file(&directory.join(&other.path), &directory.join(&report.path))
            }) {
                let path = report.path.display();
                wrong.push(format!("--report: {path} is named twice"));
            }
        }
        if args.statistics && !args.output_format.has_statistics() {
            wrong.push("--statistics goes with the formats full, concise and json".to_owned());
        }
        if !wrong.is_empty() {
            return Err(Stop::Usage(wrong));
        }
        Ok(Self {
            session,
            args,
            root: root(args, directory)?,
            settings,
        })
    }

    /// Writes the files; tells about those that cannot be written, and whether there are any.
    pub(super) fn write(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        hint: Hint,
    ) -> Result<bool, Stop> {
        let mut failed = false;
        for report in &self.args.reports {
            let target = self.session.directory()?.join(&report.path);
            let written = match report.format {
                _ if is_read(set, &target) => {
                    Err("it was read in this run, and a report would take its place".to_owned())
                }
                OutputFormat::Summary => {
                    let text = report::markdown(&self.results(set, outcome), room(&target));
                    append_report(&target, &text)
                }
                format => {
                    let text = self.text(set, outcome, format, Look::PLAIN, hint)?;
                    write_report(&target, &text)
                }
            };
            if let Err(reason) = written {
                let path = report.path.display();
                self.session
                    .errln(&format!("error: cannot write {path}: {reason}"));
                failed = true;
            }
        }
        Ok(failed)
    }

    /// Prints the report that goes to standard output.
    pub(super) fn print(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        look: Look,
        hint: Hint,
    ) -> Result<(), Stop> {
        self.session
            .print(&self.logged(set, outcome, look, hint)?)?;
        self.count_left_out(outcome);
        Ok(())
    }

    /// Prints the same report to standard error, where standard output has a manifest.
    pub(super) fn eprint(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        look: Look,
        hint: Hint,
    ) -> Result<(), Stop> {
        self.session
            .eprint_as_is(&self.logged(set, outcome, look, hint)?);
        self.count_left_out(outcome);
        Ok(())
    }

    /// Counts on standard error what the format of the report has no place to count.
    fn count_left_out(&self, outcome: &Outcome) {
        if self.args.output_format != OutputFormat::Gitlab || self.args.common.quiet {
            return;
        }
        for sentence in report::left_out_sentences(&outcome.summary) {
            self.session.errln(&sentence);
        }
    }

    /// Returns the report as it may be written to a log.
    fn logged(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        look: Look,
        hint: Hint,
    ) -> Result<String, Stop> {
        let format = self.args.output_format;
        let text = self.text(set, outcome, format, look, hint)?;
        if is_for_people(format)
            && let Cow::Owned(escaped) = self.session.for_log(&text)
        {
            return Ok(escaped);
        }
        Ok(text)
    }

    fn results<'b>(&'b self, set: &'b SourceSet, outcome: &'b Outcome) -> Results<'b> {
        Results {
            set,
            outcome,
            root: &self.root,
            fail_on: self.settings.fail_on,
        }
    }

    fn text(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        format: OutputFormat,
        look: Look,
        hint: Hint,
    ) -> Result<String, Stop> {
        let results = self.results(set, outcome);
        let counts = || report::statistics(outcome);
        let statistics = self.args.statistics;
        let machine = match format {
            OutputFormat::Json => report::json(set, outcome, statistics.then(counts)),
            OutputFormat::Sarif => report::sarif(&results),
            OutputFormat::Gitlab => report::gitlab(&results),
            OutputFormat::Github => Ok(report::github(&results)),
            OutputFormat::Junit => Ok(report::junit(&results)),
            OutputFormat::Summary => Ok(report::markdown(&results, SUMMARY_LIMIT)),
            OutputFormat::Full | OutputFormat::Concise => {
                let mut text = match format {
                    _ if statistics => report::statistics_table(&counts(), look),
                    OutputFormat::Concise => report::concise(set, &outcome.findings, look),
                    _ => report::human(set, &outcome.findings, look),
                };
                if !self.args.common.quiet {
                    text.push_str(&report::summary_line(outcome, hint, look));
                }
                Ok(text)
            }
        };
        machine.map_err(|error| Stop::usage(error.to_string()))
    }
}

/// Returns whether a format is text: others have no line that a CI system must not take for a command.
const fn is_for_people(format: OutputFormat) -> bool {
    matches!(
        format,
        OutputFormat::Full | OutputFormat::Concise | OutputFormat::Summary
    )
}

/// The folder that paths in reports start at. Links are resolved on both sides: a runner may name
/// its workspace by one.
fn root(args: &CheckArgs, directory: &Path) -> Result<Root, Stop> {
    let here = canonical(directory).unwrap_or_else(|_| directory.to_path_buf());
    let root = match &args.report_root {
        None => here.clone(),
        Some(path) => folder(path, directory)?,
    };
    let mut paths = Root::new(&here, &root);
    let named = args.report_root.iter().chain(&args.common.paths);
    for named in named.filter(|path| path.as_os_str() != "-") {
        // What is not there has no findings.
        if let Ok(real) = canonical(&directory.join(named)) {
            paths.leads(named, &real);
        }
    }
    Ok(paths)
}

/// Tells whether two paths lead to one file, which need not be there yet. Devices and pipes may be
/// written to more than once.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (canonical(one), canonical(other)) {
        (Ok(one), Ok(other)) => one == other && one.is_file(),
        (Err(_), Err(_)) => in_its_folder(one) == in_its_folder(other),
        _ => false,
    }
}

/// The path of a file that is to come, with the way to its folder resolved.
fn in_its_folder(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let folder = canonical(parent.unwrap_or_else(|| Path::new(".")));
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

fn folder(path: &Path, directory: &Path) -> Result<PathBuf, Stop> {
    canonical(&directory.join(path))
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| {
            Stop::usage(format!(
                "--report-root: there is no folder {}",
                path.display()
            ))
        })
}

/// What is left of the limit: others may have written to the same summary.
fn room(report: &Path) -> usize {
    let written = std::fs::metadata(report).map_or(0, |metadata| metadata.len());
    SUMMARY_LIMIT.saturating_sub(usize::try_from(written).unwrap_or(usize::MAX))
}
