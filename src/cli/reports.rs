//! The reports of `check`: one on standard output, and any number in files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::engine::{Outcome, append_report, is_read, write_report};
use crate::report::{self, Hint, ReportRoot, Results, SUMMARY_LIMIT, TerminalStyle};
use crate::settings::Settings;
use crate::source::{SourceSet, canonical};

use super::args::{CheckArgs, OutputFormat, ReportArgs};
use super::session::Session;
use super::stop::Stop;

/// Writes the reports that the options request.
pub(super) struct Reports<'a> {
    session: &'a Session,
    args: &'a CheckArgs,
    root: ReportRoot,
    settings: &'a Settings,
}

impl<'a> Reports<'a> {
    /// Checks the options for reports.
    ///
    /// # Errors
    /// Two reports have the same file, `--statistics` is not supported by the format, or the folder of `--report-root`
    /// does not exist.
    pub(super) fn new(
        session: &'a Session,
        args: &'a CheckArgs,
        settings: &'a Settings,
    ) -> Result<Self, Stop> {
        let directory = session.directory()?;
        let mut errors = same_files(&args.report, directory);
        if args.statistics && !args.report.output_format.has_statistics() {
            let error = "`--statistics` requires the format `full`, `concise` or `json`";
            errors.push(error.to_owned());
        }
        if !errors.is_empty() {
            return Err(Stop::Usage(errors));
        }
        Ok(Self {
            session,
            args,
            root: report_root(
                args.report.report_root.as_deref(),
                &args.common.paths,
                directory,
            )?,
            settings,
        })
    }

    /// Writes the reports to their files. Prints an error for each file that cannot be written, and returns whether
    /// there are any.
    pub(super) fn write(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        hint: Hint,
    ) -> Result<bool, Stop> {
        let mut failed = false;
        for report in &self.args.report.reports {
            let target = self.session.directory()?.join(&report.path);
            let written = match report.format {
                _ if is_read(set, &target) => {
                    Err("it was read in this run, and the report would overwrite it".to_owned())
                }
                OutputFormat::Summary => {
                    let room = remaining_summary_size(&target);
                    let text = report::markdown(&self.results(set, outcome), room);
                    append_report(&target, &text)
                }
                format => {
                    let text = self.text(set, outcome, format, TerminalStyle::PLAIN, hint)?;
                    write_report(&target, &text)
                }
            };
            if let Err(reason) = written {
                let path = report.path.display();
                self.session
                    .errln(&format!("error: cannot write `{path}`: {reason}"));
                failed = true;
            }
        }
        Ok(failed)
    }

    /// Prints the report to standard output.
    pub(super) fn print(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        style: TerminalStyle,
        hint: Hint,
    ) -> Result<(), Stop> {
        self.session
            .print(&self.text_for_log(set, outcome, style, hint)?)?;
        self.print_hidden_counts(set, outcome);
        Ok(())
    }

    /// Prints the report to standard error, for runs that print a manifest to standard output.
    pub(super) fn eprint(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        style: TerminalStyle,
        hint: Hint,
    ) -> Result<(), Stop> {
        self.session
            .eprint_as_is(&self.text_for_log(set, outcome, style, hint)?);
        self.print_hidden_counts(set, outcome);
        Ok(())
    }

    /// Prints to standard error what was not judged, and how many findings are not shown, if the format of the report
    /// has no field for it.
    fn print_hidden_counts(&self, set: &SourceSet, outcome: &Outcome) {
        let not_judged = report::not_judged_message(outcome);
        let format = self.args.report.output_format;
        let has_field = is_for_people(format) || format == OutputFormat::Json;
        if !has_field && !self.args.common.quiet && !not_judged.is_empty() {
            self.session.errln(&not_judged);
        }
        if self.args.report.output_format != OutputFormat::Gitlab || self.args.common.quiet {
            return;
        }
        for sentence in report::left_out_sentences(set, &outcome.summary) {
            self.session.errln(&sentence);
        }
    }

    /// Returns the report without commands of a CI system, so that it can be written to a log.
    fn text_for_log(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        style: TerminalStyle,
        hint: Hint,
    ) -> Result<String, Stop> {
        let format = self.args.report.output_format;
        let text = self.text(set, outcome, format, style, hint)?;
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
            requires_workloads: self.args.report.require_workloads,
            baseline_state: None,
        }
    }

    fn text(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        format: OutputFormat,
        style: TerminalStyle,
        hint: Hint,
    ) -> Result<String, Stop> {
        let results = self.results(set, outcome);
        let counts = || report::statistics(outcome);
        let statistics = self.args.statistics;
        let written = match format {
            OutputFormat::Json => report::json(set, outcome, statistics.then(counts)),
            OutputFormat::Sarif => report::sarif(&results),
            OutputFormat::Gitlab => report::gitlab(&results),
            OutputFormat::Github => Ok(report::github(&results)),
            OutputFormat::Junit => Ok(report::junit(&results)),
            OutputFormat::Summary => Ok(report::markdown(&results, SUMMARY_LIMIT)),
            OutputFormat::Full | OutputFormat::Concise => {
                let mut text = match format {
                    _ if statistics => report::statistics_table(&counts(), style),
                    OutputFormat::Concise => report::concise(set, &outcome.findings, style),
                    _ => report::full(set, &outcome.findings, style),
                };
                if !self.args.common.quiet {
                    text.push_str(&report::summary_line(set, outcome, hint, style));
                }
                Ok(text)
            }
        };
        written.map_err(|error| Stop::usage(error.to_string()))
    }
}

/// Returns whether a format is text for people. The writers of all other formats escape commands of CI systems.
const fn is_for_people(format: OutputFormat) -> bool {
    matches!(
        format,
        OutputFormat::Full | OutputFormat::Concise | OutputFormat::Summary
    )
}

/// Returns the folder that paths in reports are relative to. Links are resolved in this folder and in the paths of the
/// run, because the workspace of a CI runner may be a link.
///
/// # Errors
/// The folder of `--report-root` does not exist.
pub(super) fn report_root(
    folder: Option<&Path>,
    paths: &[PathBuf],
    directory: &Path,
) -> Result<ReportRoot, Stop> {
    let working_directory = canonical(directory).unwrap_or_else(|_| directory.to_path_buf());
    let resolved = match folder {
        None => working_directory.clone(),
        Some(path) => existing_folder(path, directory)?,
    };
    let mut root = ReportRoot::new(&working_directory, &resolved);
    let paths = folder.into_iter().chain(paths.iter().map(PathBuf::as_path));
    for path in paths.filter(|path| path.as_os_str() != "-") {
        // A path that does not exist has no findings.
        if let Ok(real) = canonical(&directory.join(path)) {
            root.add_link(path, &real);
        }
    }
    Ok(root)
}

/// Returns an error for each report that has the file of an earlier one.
pub(super) fn same_files<F>(args: &ReportArgs<F>, directory: &Path) -> Vec<String>
where
    F: ValueEnum + Clone + Default + Send + Sync + 'static,
{
    let mut errors = Vec::new();
    for (number, report) in args.reports.iter().enumerate() {
        let target = directory.join(&report.path);
        let mut before = args.reports.iter().take(number);
        if before.any(|other| is_same_file(&directory.join(&other.path), &target)) {
            let path = report.path.display();
            errors.push(format!("two reports have the same file `{path}`"));
        }
    }
    errors
}

/// Returns whether two paths lead to the same file, which need not exist yet. Devices and pipes do not count, because
/// several reports can be written to them.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (canonical(one), canonical(other)) {
        (Ok(one), Ok(other)) => one == other && one.is_file(),
        (Err(_), Err(_)) => with_resolved_folder(one) == with_resolved_folder(other),
        _ => false,
    }
}

/// Returns the path of a file that need not exist, with its folder resolved.
fn with_resolved_folder(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let folder = canonical(parent.unwrap_or_else(|| Path::new(".")));
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

fn existing_folder(path: &Path, directory: &Path) -> Result<PathBuf, Stop> {
    canonical(&directory.join(path))
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| {
            Stop::usage(format!(
                "the folder `{}` for `--report-root` does not exist",
                path.display()
            ))
        })
}

/// Returns how many bytes may still be written to a summary, which other steps may have written to.
fn remaining_summary_size(report: &Path) -> usize {
    let written = std::fs::metadata(report).map_or(0, |metadata| metadata.len());
    SUMMARY_LIMIT.saturating_sub(usize::try_from(written).unwrap_or(usize::MAX))
}
