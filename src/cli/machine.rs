//! `meshprobe rewrite --vm` and `--from-deployment`: files for virtual machines.

use crate::engine::{self, Exit, MadeFiles, failing};
use crate::finding::Severity;
use crate::report::counted;
use crate::settings::FailOn;
use crate::source::SourceSet;

use super::args::RewriteArgs;
use super::input::{Gate, Instead, prepare, tell_files, tell_findings};
use super::output::{Stop, tell_failures};
use super::rewrite::leave_out_copies;
use super::session::Session;

pub(super) fn run(session: &Session, args: &RewriteArgs) -> Result<Exit, Stop> {
    let mut run = prepare(session, &args.common, Instead::Nothing, Gate::No)?;
    if let Some(directory) = &args.output {
        leave_out_copies(&mut run, directory);
    }
    run.layer.allow.extend(args.allow.iter().cloned());
    let settings = run.layer.resolved(FailOn::default());
    tell_files(session, &run.set, &args.common);
    let mut findings = Vec::new();
    let mut set = run.set.clone();
    let mut made = MadeFiles::default();
    if args.from_deployment {
        made = run.on_threads(session, || engine::workload_groups(&set, &settings));
        tell_findings(session, &set, &made.findings, &args.common);
        findings.append(&mut made.findings);
        set = engine::with_groups(&set, &made.files);
    }
    if args.vm {
        let refused = made.refused;
        made = run.on_threads(session, || engine::mesh_yamls(&set, &settings));
        made.refused += refused;
        tell_findings(session, &set, &made.findings, &args.common);
        findings.append(&mut made.findings);
    }
    let unwritten = deliver(session, &made, args, &run.set)?;
    let refused = failing(&findings, FailOn::Severity(Severity::Error));
    Ok(run
        .exit()
        .or(refused, Exit::Findings)
        .or(unwritten > 0, Exit::Failure))
}

/// Prints or writes; returns how many files could not be written.
fn deliver(
    session: &Session,
    all: &MadeFiles,
    args: &RewriteArgs,
    set: &SourceSet,
) -> Result<usize, Stop> {
    let made = &all.files;
    let (file, source) = if args.vm {
        ("mesh.yaml", "WorkloadGroup")
    } else {
        ("workloadgroup.yaml", "workload with a readinessProbe")
    };
    let tell = |said: &str| {
        if !args.common.quiet {
            session.errln(said);
        }
    };
    if made.is_empty() {
        tell(&format!(
            "Nothing written: no {source} to write {file} for."
        ));
        return Ok(0);
    }
    let Some(directory) = &args.output else {
        if made.len() > 1 && args.vm {
            return Err(Stop::usage(format!(
                "standard output takes one {file} only, and there are {}: give -o DIR",
                made.len()
            )));
        }
        let texts: Vec<&str> = made.iter().map(|one| one.text.as_str()).collect();
        session.print(&texts.join("---\n"))?;
        return Ok(0);
    };
    let failures = engine::write_made(all, file, session.directory()?, directory, set)
        .map_err(|reason| Stop::usage(format!("-o: {reason}")))?;
    tell_failures(session, &failures);
    let done = counted(made.len().saturating_sub(failures.len()), "file");
    tell(&format!("Wrote {done} to {}.", directory.display()));
    Ok(failures.len())
}
