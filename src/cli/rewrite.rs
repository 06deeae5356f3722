//! `meshprobe rewrite`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::engine::{self, Exit, Rewritten, failing};
use crate::finding::Severity;
use crate::report::{counted, visible};
use crate::settings::{FailOn, Form};

use super::args::RewriteArgs;
use super::check::print_diffs;
use super::input::{Gate, Instead, Run, prepare, tell_files, tell_findings};
use super::machine;
use super::output::{Stop, tell_failures, write};
use super::session::{Output, Session};
use super::terminal::look;

/// The id of the note that a pod is only shown.
const PREVIEW: &str = "preview";

pub(super) fn run(session: &Session, args: &RewriteArgs) -> Result<Exit, Stop> {
    if args.vm || args.from_deployment {
        return machine::run(session, args);
    }
    if args.common.renders() && (args.write || args.output.is_some()) {
        return Err(Stop::usage(
            "what --kustomize or --helm renders goes to standard output: leave out --write and -o",
        ));
    }
    let mut run = prepare(session, &args.common, Instead::Nothing, Gate::Rewrite)?;
    if args.emit_envoy {
        return emit(session, &run, args);
    }
    let to_stdout = !args.write && !args.diff && args.output.is_none();
    if to_stdout && !run.single {
        return Err(Stop::usage(
            "standard output takes one file only: give --write to rewrite in place, -o DIR to write a copy, or --diff to see the change",
        ));
    }
    if args.output.is_some() && run.single && run.from_stdin {
        return Err(Stop::usage(
            "-o copies files, and standard input goes to standard output: leave out -o",
        ));
    }
    if let Some(directory) = &args.output {
        leave_out_copies(&mut run, directory);
    }
    run.layer.preview = args.preview;
    run.layer.allow.extend(args.allow.iter().cloned());
    if let Some(form) = args.form {
        run.layer.form = Some(Form::from(form));
    }
    let settings = run.layer.resolved(FailOn::default());
    tell_files(session, &run.set, &args.common);
    let rewritten = run.on_threads(session, || {
        if args.undo {
            engine::undo(&run.set, &settings)
        } else {
            engine::rewrite(&run.set, &settings)
        }
    });
    tell_findings(session, &run.set, &rewritten.findings, &args.common);
    let delivered = deliver(session, &run, &rewritten, args)?;
    if !args.common.quiet && !to_stdout {
        session.errln(&told(&rewritten, args, &delivered));
    }
    let refused = failing(&rewritten.findings, FailOn::Severity(Severity::Error));
    Ok(run
        .exit()
        .or(refused, Exit::Findings)
        .or(args.diff && !rewritten.changed.is_empty(), Exit::Findings)
        .or(delivered.failed, Exit::Failure))
}

/// Prints what the proxies are told of the probes, one document per pod.
fn emit(session: &Session, run: &Run, args: &RewriteArgs) -> Result<Exit, Stop> {
    let settings = run.layer.resolved(FailOn::default());
    tell_files(session, &run.set, &args.common);
    let mut findings = engine::problems(&run.set);
    let told = run.on_threads(session, || engine::proxies(&run.set, &settings));
    findings.extend(told.findings);
    tell_findings(session, &run.set, &findings, &args.common);
    for (index, proxy) in told.proxies.iter().enumerate() {
        let resources = serde_json::json!({ "static_resources": proxy.resources });
        let text = serde_yaml::to_string(&resources).map_err(|e| Stop::usage(e.to_string()))?;
        let rule = if index > 0 { "---\n" } else { "" };
        let assumed = proxy.assumed.iter();
        let assumed: String = assumed
            .map(|one| comment(session, &format!("assumed: {one}")))
            .collect();
        let title = comment(session, &proxy.title);
        session.print(&format!("{rule}{title}{assumed}{text}"))?;
    }
    if told.proxies.is_empty() && !args.common.quiet {
        session.errln("No pod that OSM injects has probes that its proxy passes on.");
    }
    let broken = failing(&findings, FailOn::Severity(Severity::Error));
    Ok(run.exit().or(broken, Exit::Findings))
}

/// Returns a comment of one line for a manifest that is printed, perhaps to a log.
fn comment(session: &Session, text: &str) -> String {
    format!("# {}\n", session.for_log(&visible(text)))
}

/// What an earlier run has written into the tree is no part of it.
pub(super) fn leave_out_copies(run: &mut Run, directory: &Path) {
    let request = &run.request;
    run.set.files.retain(|file| {
        let location = file.location.as_deref();
        !location.is_some_and(|path| engine::is_earlier_copy(request, directory, path))
    });
}

/// What became of the result.
#[derive(Default)]
struct Delivered {
    /// A write failed, or there was nothing whole to print.
    failed: bool,
    /// The changed files that could not be written.
    lost: BTreeSet<Arc<str>>,
    /// How many files a copy of the tree holds.
    copied: usize,
}

/// Writes, shows or prints.
fn deliver(
    session: &Session,
    run: &Run,
    rewritten: &Rewritten,
    args: &RewriteArgs,
) -> Result<Delivered, Stop> {
    if args.diff {
        print_diffs(
            session,
            &rewritten.changed,
            look(session, Output::Stdout, args.common.color),
        )?;
        return Ok(Delivered::default());
    }
    let mut delivered = Delivered::default();
    if let Some(directory) = &args.output {
        let mirror = engine::mirror_all(&run.request, &rewritten.changed, directory)
            .map_err(|reason| Stop::usage(format!("-o: {reason}; --write rewrites in place")))?;
        tell_failures(session, &mirror.failures);
        for link in &mirror.left_out {
            let (path, why) = (&link.path, &link.reason);
            session.errln(&format!("note: {path} is not copied: {why}"));
        }
        delivered.failed = !mirror.failures.is_empty();
        delivered.copied = mirror.files;
        delivered.lost = mirror.lost;
    } else if args.write {
        let failures = write(session, &rewritten.changed).into_iter();
        delivered.lost = failures.map(|failure| failure.path).collect();
    } else {
        let mut files = rewritten.set.targets();
        let whole = files.find(|file| file.fault.is_none());
        delivered.failed = !session.print_whole(whole.map(|file| &*file.text))?;
        return Ok(delivered);
    }
    // Standard input has no other place to be written to.
    let is_lost = run.from_stdin && !session.print_whole(rewritten.set.from_stdin())?;
    delivered.failed |= is_lost || !delivered.lost.is_empty();
    Ok(delivered)
}

fn told(rewritten: &Rewritten, args: &RewriteArgs, delivered: &Delivered) -> String {
    let files = rewritten.changed.len();
    let copied = args.output.as_deref().filter(|_| delivered.copied > 0);
    let copied = copied.map(|directory| {
        let copied = counted(delivered.copied, "file");
        format!(" Copied {copied} to {}.", directory.display())
    });
    let copied = copied.unwrap_or_default();
    let (did, would, nothing) = if args.undo {
        ("Undid", "Would undo", "Nothing to undo.")
    } else {
        ("Rewrote", "Would rewrite", "Nothing to rewrite.")
    };
    if files == 0 {
        return format!("{nothing}{copied}");
    }
    if !delivered.lost.is_empty() {
        let done = files.saturating_sub(delivered.lost.len());
        return format!("{did} {done} of {}.{copied}", counted(files, "file"));
    }
    let did = if args.diff { would } else { did };
    let what = if args.undo { " the rewrite of" } else { "" };
    // What is only to be looked at is in the same files.
    let previews = match rewritten.findings.iter().any(|one| one.rule == PREVIEW) {
        true => ", and a preview is not to be applied",
        false => "",
    };
    format!(
        "{did}{what} {} in {}; each such workload rolls when applied{previews}.{copied}",
        counted(rewritten.pods, "pod template"),
        counted(files, "file")
    )
}
