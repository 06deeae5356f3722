//! The reports of `diff`: one on standard output, and any number in files.

use std::path::Path;

use meshprobe_mesh::settings::{FailOn, RequiredVerdicts};

use crate::cli::args::{ChangeFormat, DiffArgs};
use crate::cli::reports::{report_root, shared_files, write_file};
use crate::cli::session::{OutputStream, Session};
use crate::cli::stop::Stop;
use crate::cli::terminal::terminal_style;
use meshprobe_engine::engine::write_report;
use meshprobe_report as report;
use meshprobe_report::changes::{ChangeReport, Changes};
use meshprobe_report::{Report, ReportRoot, Results, TerminalStyle, changes};

/// Writes the reports that the options request.
pub(super) struct Reports<'a> {
    session: &'a Session,
    args: &'a DiffArgs,
    root: ReportRoot,
}

impl<'a> Reports<'a> {
    /// Checks the options for reports.
    ///
    /// # Errors
    /// Two reports have the same file, or the folder of `--report-root` does not exist.
    pub(super) fn new(session: &'a Session, args: &'a DiffArgs) -> Result<Self, Stop> {
        let directory = session.directory()?;
        let errors = shared_files(&args.report.reports, directory);
        if !errors.is_empty() {
            return Err(Stop::Usage(errors));
        }
        let folder = args.report.report_root.as_deref();
        Ok(Self {
            session,
            args,
            root: report_root(folder, &args.common.paths, directory)?,
        })
    }

    /// Makes paths in reports relative to the root of a repository, unless an option sets another folder: the services that
    /// read the reports expect such paths.
    ///
    /// # Errors
    /// The working directory is not known.
    pub(super) fn use_repository(&mut self, root: &Path) -> Result<(), Stop> {
        if self.args.report.report_root.is_none() {
            let directory = self.session.directory()?;
            self.root = report_root(Some(root), &self.args.common.paths, directory)?;
        }
        Ok(())
    }

    /// Writes the reports to their files. Prints an error for each file that cannot be written, and returns whether
    /// there are any.
    pub(super) fn write(&self, changes: &Changes<'_>) -> Result<bool, Stop> {
        let mut failed = false;
        for report in &self.args.report.reports {
            let sets = [changes.before.set, changes.after.set];
            let text = self.text(changes, report.format, TerminalStyle::PLAIN)?;
            failed |= write_file(self.session, sets, &report.path, |target| {
                write_report(target, &text)
            })?;
        }
        Ok(failed)
    }

    /// Prints the report to standard output.
    pub(super) fn print(&self, changes: &Changes<'_>) -> Result<(), Stop> {
        let style = terminal_style(self.session, OutputStream::Stdout, self.args.common.color);
        let format = self.args.report.output_format;
        if format == ChangeFormat::Json {
            return self
                .session
                .print_json(Report::Changes(ChangeReport::new(changes)));
        }
        let text = self.text(changes, format, style)?;
        self.session
            .write_report(OutputStream::Stdout, &text, format.audience())
    }

    fn text(
        &self,
        changes: &Changes<'_>,
        format: ChangeFormat,
        style: TerminalStyle,
    ) -> Result<String, Stop> {
        let regressions = || changes::regressions(changes);
        let relative = changes.relative_to(&self.root);
        let outcome = match format {
            ChangeFormat::Github => changes::with_causes(changes, regressions()),
            ChangeFormat::Sarif | ChangeFormat::Gitlab | ChangeFormat::Junit => regressions(),
            _ => meshprobe_engine::engine::Outcome::default(),
        };
        let results = Results {
            set: changes.after.set,
            outcome: &outcome,
            root: &self.root,
            fail_on: FailOn::default(),
            required: match changes.compares_nothing() {
                true => changes.fail_on.required,
                false => RequiredVerdicts::None,
            },
            baseline_state: Some("new"),
            notes: &changes.comparison.notes,
        };
        let written = match format {
            ChangeFormat::Json => report::json(&ChangeReport::new(changes)),
            ChangeFormat::Sarif => report::sarif(&results),
            ChangeFormat::Gitlab => report::gitlab(&results),
            ChangeFormat::Github => Ok(report::github(&results)),
            ChangeFormat::Junit => Ok(report::junit(&results)),
            ChangeFormat::Markdown => Ok(changes::markdown(&relative)),
            ChangeFormat::Html => Ok(report::html_changes(&relative)),
            ChangeFormat::Concise => Ok(changes::concise(changes, style)),
            ChangeFormat::Full => Ok(changes::full(changes, style)),
        };
        let mut text = written.map_err(|error| Stop::usage(error.to_string()))?;
        let is_for_people = matches!(format, ChangeFormat::Full | ChangeFormat::Concise);
        if is_for_people && !self.args.common.quiet {
            text.push_str(&changes::last_lines(changes, style));
        }
        Ok(text)
    }
}
