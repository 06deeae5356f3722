//! Reads the settings and the files that the arguments name.

use std::path::Path;

use meshprobe_engine::engine;
use meshprobe_mesh::settings::FailOn;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{Input, Rendered, RenderedChart, Request};

use super::args::Common;
use super::session::Session;
use super::stop::Stop;
use super::terminal::Progress;
use super::threads::{cores, pool};
use super::{render, surroundings};

pub(super) use plan::{Planned, plan};
pub(super) use request::RenderFallback;
pub(super) use run::{NOTHING_READ, Run, print_files, print_findings};

mod plan;
mod request;
mod run;

/// Reads the settings and the files of a run, which writes files to `output`.
///
/// # Errors
/// An option, a path or the configuration file is invalid.
pub(super) fn prepare(
    session: &Session,
    common: &Common,
    fallback: RenderFallback,
    output: Option<&Path>,
) -> Result<Run, Stop> {
    prepare_in(session, common, fallback, output, session.files().clone())
}

/// Reads the settings and the files of a run from `filesystem`.
///
/// # Errors
/// An option, a path or the configuration file is invalid.
pub(super) fn prepare_in(
    session: &Session,
    common: &Common,
    fallback: RenderFallback,
    output: Option<&Path>,
    filesystem: FileSystem,
) -> Result<Run, Stop> {
    let directory = session.directory()?;
    let Planned {
        layer,
        config,
        mut request,
        limits,
    } = plan(session, common, fallback, output, filesystem)?;
    let pool = pool(common.threads.map_or_else(cores, usize::from))?;
    let from_stdin = request
        .targets
        .iter()
        .any(|input| matches!(input, Input::Bytes { .. } | Input::Rendered(_)));
    let single = match request.targets.as_slice() {
        [Input::Path(path)] => !request.filesystem.is_dir(&directory.join(path)),
        [Input::Bytes { .. } | Input::Rendered(_)] => true,
        _ => false,
    };
    let progress = Progress::new(session, common);
    let load = |request: &Request| {
        let load = || engine::load(request);
        progress.during(session, "reading files", || pool.install(load))
    };
    let mut set = load(&request);
    if layer.renders_charts == Some(true) && fallback == RenderFallback::Files {
        let settings = layer.resolved(FailOn::default());
        let rendered = progress.during(session, "rendering charts", || {
            pool.install(|| render::tree_charts(session, &engine::chart_runs(&set, &settings)))
        });
        if !rendered.is_empty() {
            add_charts(session, common, rendered, &mut request);
            set = load(&request);
        }
    }
    set.context_option = surroundings::context_option(session, &limits, &request)?;
    Ok(Run {
        set,
        layer,
        config,
        request,
        from_stdin,
        single,
        pool,
        progress,
    })
}

/// Adds the outputs of charts to a request. A failure that only affects facts is a note.
fn add_charts(session: &Session, common: &Common, rendered: Vec<Rendered>, request: &mut Request) {
    for rendered in rendered {
        let chart = rendered.chart.as_deref();
        let (all, any) = chart.map_or((true, true), RenderedChart::targets);
        match &rendered.outcome {
            Err(why) if !any => {
                if !common.quiet {
                    session.errln(&format!("note: facts may be missing: {why}"));
                }
            }
            Ok(_) if !all => request.context.push(Input::Rendered(rendered.into())),
            _ => request.targets.push(Input::Rendered(rendered.into())),
        }
    }
}
