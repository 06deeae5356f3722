//! `meshprobe rewrite --vm`, which generates files for virtual machines.

use std::path::Path;

use meshprobe_mesh::finding::Severity;
use meshprobe_mesh::settings::FailOn;
use meshprobe_tree::source::{Input, SourceSet, canonical};

use super::args::RewriteArgs;
use super::input::{RenderFallback, Run, prepare, print_files, print_findings};
use super::output::report_failures;
use super::session::Session;
use super::stop::Stop;
use meshprobe_engine::engine;
use meshprobe_engine::engine::{Exit, GeneratedFiles, failing};
use meshprobe_report::counted;

pub(super) fn run(session: &Session, args: &RewriteArgs) -> Result<Exit, Stop> {
    let output = args.output.as_deref();
    let mut run = prepare(session, &args.common, RenderFallback::Nothing, output)?;
    run.reject_nothing_read()?;
    if let Some(directory) = &args.output {
        exclude_output(&mut run, directory);
    }
    run.layer.allow.extend(args.allow.iter().copied());
    let settings = run.layer.resolved(FailOn::default());
    print_files(session, &run.set, &args.common);
    let generated = run.on_threads(session, || engine::mesh_yamls(&run.set, &settings));
    print_findings(session, &run.set, &generated.findings, &args.common);
    let unwritten = deliver(session, &generated, args, &run.set)?;
    let refused = failing(&generated.findings, FailOn::Severity(Severity::Error));
    Ok(run
        .exit()
        .or(refused, Exit::Findings)
        .or(unwritten > 0, Exit::Failure))
}

/// Removes the files below the folder for output, which an earlier run may have written, unless a target is in it.
fn exclude_output(run: &mut Run, directory: &Path) {
    let base = &run.request.working_directory;
    let Ok(folder) = canonical(&base.join(directory)) else {
        return;
    };
    let is_named = run.request.targets.iter().any(|target| match target {
        Input::Path(named) | Input::Resolved(named) => {
            canonical(&base.join(named)).is_ok_and(|named| named.starts_with(&folder))
        }
        Input::Bytes { .. } | Input::Rendered(_) => false,
    });
    if is_named {
        return;
    }
    run.set.files.retain(|file| {
        let location = file.location.as_deref();
        !location.is_some_and(|path| path.starts_with(&folder))
    });
}

/// Prints or writes the files, and returns how many could not be written.
fn deliver(
    session: &Session,
    all: &GeneratedFiles,
    args: &RewriteArgs,
    set: &SourceSet,
) -> Result<usize, Stop> {
    let files = &all.files;
    let print_summary = |summary: &str| {
        if !args.common.quiet {
            session.errln(summary);
        }
    };
    if files.is_empty() {
        print_summary("Nothing written: found no WorkloadGroup for mesh.yaml.");
        return Ok(0);
    }
    let Some(directory) = &args.output else {
        if files.len() > 1 {
            return Err(Stop::usage(format!(
                "cannot print {} mesh.yaml files to standard output; expected one",
                files.len()
            ))
            .help("use `-o DIR` to write them to a folder"));
        }
        for file in files {
            session.print_manifests(&file.text)?;
        }
        return Ok(0);
    };
    let failures =
        engine::write_generated(all, session.directory()?, directory, set).map_err(|reason| {
            let directory = directory.display();
            Stop::usage(format!("invalid value `{directory}` for `-o`: {reason}"))
        })?;
    report_failures(session, &failures);
    let written = counted(files.len().saturating_sub(failures.len()), "file");
    print_summary(&format!("Wrote {written} to {}.", directory.display()));
    Ok(failures.len())
}
