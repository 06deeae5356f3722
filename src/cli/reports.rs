//! The reports of `check`: one on standard output, and any number in files.

use std::path::{Path, PathBuf};

use meshprobe_mesh::settings::Settings;
use meshprobe_tree::source::{SourceSet, canonical};

use super::args::{CheckArgs, OutputFormat, ReportArg};
use super::session::{Audience, OutputStream, Session};
use super::stop::Stop;
use meshprobe_engine::engine;
use meshprobe_engine::engine::{
    AnalysisRequest, Outcome, WorkloadReport, analyse, append_report, is_read, write_report,
};
use meshprobe_report as report;
use meshprobe_report::{
    CheckReport, Hint, Report, ReportRoot, Results, SUMMARY_LIMIT, TerminalStyle,
};

/// What the reports of a run show.
#[derive(Clone, Copy)]
pub(super) struct Reported<'a> {
    /// All files.
    pub(super) set: &'a SourceSet,
    /// The result of the check.
    pub(super) outcome: &'a Outcome,
    /// The hint about fixes in the summary.
    pub(super) hint: Hint,
    /// The predictions that [`Reports::probes`] or [`Reports::check`] returns.
    pub(super) probes: &'a [WorkloadReport],
}

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
        let mut errors = shared_files(&args.report.reports, directory);
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

    /// Checks all files, and returns the predictions if a report shows them.
    pub(super) fn check(&self, set: &SourceSet) -> (Outcome, Vec<WorkloadReport>) {
        let analysis = analyse(&AnalysisRequest {
            has_predictions: self.shows_probes(),
            ..AnalysisRequest::new(set, self.settings)
        });
        (analysis.outcome, analysis.workloads)
    }

    /// Returns the predictions if a report shows them, for files that were changed after the check.
    pub(super) fn probes(&self, set: &SourceSet) -> Vec<WorkloadReport> {
        match self.shows_probes() {
            true => engine::predict(&AnalysisRequest::new(set, self.settings))
                .workloads
                .unwrap_or_default(),
            false => Vec::new(),
        }
    }

    fn shows_probes(&self) -> bool {
        let files = self.args.report.reports.iter().map(|report| report.format);
        files
            .chain([self.args.report.output_format])
            .any(|format| format == OutputFormat::Html)
    }

    /// Writes the reports to their files. Prints an error for each file that cannot be written, and returns whether
    /// there are any.
    pub(super) fn write(&self, reported: Reported<'_>) -> Result<bool, Stop> {
        let mut failed = false;
        for report in &self.args.report.reports {
            let set = [reported.set];
            failed |= match report.format {
                OutputFormat::Summary => write_file(self.session, set, &report.path, |target| {
                    let room = remaining_summary_size(target);
                    append_report(target, &report::markdown(&self.results(reported), room))
                })?,
                format => {
                    let text = self.text(reported, format, TerminalStyle::PLAIN)?;
                    write_file(self.session, set, &report.path, |target| {
                        write_report(target, &text)
                    })?
                }
            };
        }
        Ok(failed)
    }

    /// Prints the report: to standard error if the run prints a manifest to standard output.
    pub(super) fn print(
        &self,
        stream: OutputStream,
        reported: Reported<'_>,
        style: TerminalStyle,
    ) -> Result<(), Stop> {
        let format = self.args.report.output_format;
        if let (OutputFormat::Json, OutputStream::Stdout) = (format, stream) {
            return self.session.print_json(Report::Check(self.json(reported)));
        }
        let text = self.text(reported, format, style)?;
        self.session
            .write_report(stream, &text, format.audience())?;
        self.print_hidden_counts(reported.set, reported.outcome);
        Ok(())
    }

    /// Prints to standard error what was not judged, and how many findings are not shown, if the format of the report
    /// has no field for it.
    fn print_hidden_counts(&self, set: &SourceSet, outcome: &Outcome) {
        let not_judged = report::not_judged_message(outcome);
        let format = self.args.report.output_format;
        let has_field = format.audience() == Audience::People
            || matches!(format, OutputFormat::Json | OutputFormat::Html);
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

    fn results<'b>(&'b self, reported: Reported<'b>) -> Results<'b> {
        Results {
            set: reported.set,
            outcome: reported.outcome,
            root: &self.root,
            fail_on: self.settings.fail_on,
            required: self.settings.required,
            baseline_state: None,
            notes: &[],
        }
    }

    fn json(&self, reported: Reported<'_>) -> CheckReport {
        let Reported { set, outcome, .. } = reported;
        let statistics = self.args.statistics;
        let statistics = statistics.then(|| report::statistics(outcome));
        CheckReport::new(set, outcome, statistics)
    }

    fn text(
        &self,
        reported: Reported<'_>,
        format: OutputFormat,
        style: TerminalStyle,
    ) -> Result<String, Stop> {
        let Reported { set, outcome, .. } = reported;
        let results = self.results(reported);
        let statistics = self.args.statistics;
        let written = match format {
            OutputFormat::Json => report::json(&self.json(reported)),
            OutputFormat::Sarif => report::sarif(&results),
            OutputFormat::Gitlab => report::gitlab(&results),
            OutputFormat::Github => Ok(report::github(&results)),
            OutputFormat::Junit => Ok(report::junit(&results)),
            OutputFormat::Summary => Ok(report::markdown(&results, SUMMARY_LIMIT)),
            OutputFormat::Html => Ok(report::html_check(&results, reported.probes)),
            OutputFormat::Full | OutputFormat::Concise => {
                let mut text = match format {
                    _ if statistics => {
                        report::statistics_table(&report::statistics(outcome), style)
                    }
                    OutputFormat::Concise => report::concise(set, &outcome.findings, style),
                    _ => report::full(set, &outcome.findings, style),
                };
                if !self.args.common.quiet {
                    text.push_str(&report::summary_line(set, outcome, reported.hint, style));
                }
                Ok(text)
            }
        };
        written.map_err(|error| Stop::usage(error.to_string()))
    }
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

/// Returns an error for each report that has the same file as another one.
pub(super) fn shared_files<F>(reports: &[ReportArg<F>], directory: &Path) -> Vec<String> {
    let mut errors = Vec::new();
    for (number, report) in reports.iter().enumerate() {
        let mut before = reports.iter().take(number);
        if before
            .any(|other| is_same_file(&directory.join(&other.path), &directory.join(&report.path)))
        {
            let path = report.path.display();
            errors.push(format!("two reports have the same file `{path}`"));
        }
    }
    errors
}

/// Calls `write` with the absolute path of a report, unless the file is in one of the sets. Prints an error if the report is
/// not written, and returns whether that happened.
pub(super) fn write_file<'s>(
    session: &Session,
    sets: impl IntoIterator<Item = &'s SourceSet>,
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<bool, Stop> {
    let target = session.directory()?.join(path);
    let written = match sets.into_iter().any(|set| is_read(set, &target)) {
        true => Err("it was read in this run, and the report would overwrite it".to_owned()),
        false => write(&target),
    };
    if let Err(reason) = &written {
        let path = path.display();
        session.errln(&format!("error: cannot write `{path}`: {reason}"));
    }
    Ok(written.is_err())
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
