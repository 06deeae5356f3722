//! What a run reads: the paths and renderings that the arguments name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_tree::source::{Exclude, Input, Request, WalkOptions};

use crate::cli::args::Common;
use crate::cli::render;
use crate::cli::session::Session;
use crate::cli::stop::Stop;
use crate::cli::terminal::Progress;

/// Returns the request for what the arguments name, with the working directory if they name nothing.
///
/// # Errors
/// A path or an option is invalid, or standard input is named twice or cannot be read.
pub(super) fn request(
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
            isolated: common.isolated,
        },
        roots: Vec::new(),
        omitted: Vec::new(),
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
        let help = "check whether the command before `|` failed";
        if common.rejects_empty_stdin {
            return Err(Stop::usage("standard input is empty").help(help));
        }
        // A chart may render nothing. The note is also printed with `--quiet`, because nothing is checked.
        session.errln("note: standard input is empty");
        session.errln(&format!("help: {help}"));
    }
    let filename = common.stdin_filename.as_deref();
    Ok(Input::Bytes {
        name: Arc::from(filename.unwrap_or("stdin")),
        bytes: bytes.into(),
        disk_path: filename.map(|name| directory.join(name)),
    })
}

/// The input that replaces a rendering that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum RenderFallback {
    /// The files that would be rendered.
    Files,
    /// Nothing: a rewrite of these files was not requested.
    Nothing,
}
