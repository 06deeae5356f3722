//! The files of the option `--report`.

use std::path::{Path, PathBuf};

use meshprobe_tree::source::{SourceSet, canonical};

use super::args::ReportArg;
use super::session::Session;
use super::stop::Stop;
use crate::engine::is_read;

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
