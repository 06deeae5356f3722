//! `meshprobe rewrite`.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::settings::{FailOn, FormChoice};

use super::args::RewriteArgs;
use super::input::{RenderFallback, Run, prepare, print_files, print_findings};
use super::output::{print_diffs, write};
use super::session::{OutputStream, Session};
use super::stop::Stop;
use super::terminal::terminal_style;
use super::vm;
use meshprobe_engine::engine;
use meshprobe_engine::engine::{Exit, RewriteCounts, Rewritten, failing};
use meshprobe_report::{counted, escape_control, not_judged_lines, rewrite_sum};

pub(super) fn run(session: &Session, args: &RewriteArgs) -> Result<Exit, Stop> {
    if args.common.renders_charts_of_tree() {
        return Err(Stop::usage(
            "`--helm auto` cannot be used with `rewrite`: the output of a chart is not a file",
        )
        .help("render one chart with `--helm CHART`"));
    }
    if args.vm {
        return vm::run(session, args);
    }
    if args.output.is_some() {
        return Err(Stop::usage("`-o` requires `--vm`")
            .help("use `--write` to rewrite in place, or `--diff` to preview the changes"));
    }
    if args.common.renders() && args.write {
        return Err(
            Stop::usage("`--write` cannot be used with `--kustomize` or `--helm`")
                .help("remove it: rendered manifests are printed to standard output"),
        );
    }
    let mut run = prepare(session, &args.common, RenderFallback::Nothing, None)?;
    run.reject_nothing_read()?;
    if args.emit_envoy {
        return emit(session, &run, args);
    }
    if prints_result(args) && !run.single && has_files(&run) {
        return Err(
            Stop::usage("only one file can be printed to standard output")
                .help("use `--write` to rewrite in place, or `--diff` to preview the changes"),
        );
    }
    run.layer.preview = args.preview;
    run.layer.allow.extend(args.allow.iter().copied());
    if let Some(form) = args.form {
        run.layer.form = Some(FormChoice::from(form));
    }
    let settings = run.layer.resolved(FailOn::default());
    print_files(session, &run.set, &args.common);
    let rewritten = run.on_threads(session, || {
        if args.undo {
            engine::undo(&run.set, &settings)
        } else {
            engine::rewrite(&run.set, &settings)
        }
    });
    print_findings(session, &run.set, &rewritten.findings, &args.common);
    let delivered = deliver(session, &run, &rewritten, args)?;
    if !args.common.quiet {
        for line in not_judged_lines(&run.set, &rewritten.not_judged) {
            session.errln(&line);
        }
        session.errln(&summary(&rewritten, args, &delivered));
    }
    let refused = rewritten.findings.iter().any(is_refusal)
        || failing(&rewritten.findings, FailOn::Severity(Severity::Error));
    Ok(run
        .exit()
        .or(refused, Exit::Findings)
        .or(args.diff && !rewritten.changed.is_empty(), Exit::Findings)
        .or(delivered.failed, Exit::Failure))
}

/// Returns whether a finding is a refusal, which fails the run unless the settings make it a note.
fn is_refusal(finding: &Finding) -> bool {
    finding.refusal.is_some() && finding.severity > Severity::Note
}

/// Returns whether the result is printed, instead of written or shown as a diff.
const fn prints_result(args: &RewriteArgs) -> bool {
    !args.write && !args.diff
}

fn has_files(run: &Run) -> bool {
    run.set.targets().next().is_some()
}

/// Prints the Envoy resources for the probes of OSM pods, one document per pod.
fn emit(session: &Session, run: &Run, args: &RewriteArgs) -> Result<Exit, Stop> {
    let settings = run.layer.resolved(FailOn::default());
    print_files(session, &run.set, &args.common);
    let mut findings = engine::input_diagnostics(&run.set);
    let emitted = run.on_threads(session, || engine::proxies(&run.set, &settings));
    findings.extend(emitted.findings);
    print_findings(session, &run.set, &findings, &args.common);
    for (index, proxy) in emitted.proxies.iter().enumerate() {
        let resources = serde_json::json!({ "static_resources": proxy.resources });
        let text = serde_yaml::to_string(&resources).map_err(|e| Stop::usage(e.to_string()))?;
        let separator = if index > 0 { "---\n" } else { "" };
        let assumed: String = proxy
            .assumed
            .iter()
            .map(|fact| comment(session, &format!("assumed: {fact}")))
            .collect();
        let title = comment(session, &proxy.title);
        session.print_manifests(&format!("{separator}{title}{assumed}{text}"))?;
    }
    if emitted.proxies.is_empty() && !args.common.quiet {
        session.errln("No pod with an OSM sidecar has probes that the sidecar forwards.");
    }
    let broken = failing(&findings, FailOn::Severity(Severity::Error));
    Ok(run.exit().or(broken, Exit::Findings))
}

/// Returns a one-line YAML comment that is safe to print to the log of a CI system.
fn comment(session: &Session, text: &str) -> String {
    format!("# {}\n", session.for_log(&escape_control(text)))
}

/// The outcome of writing or printing a rewrite.
#[derive(Default)]
struct Delivered {
    /// A write failed, or a file could not be printed completely.
    failed: bool,
    /// The changed files that could not be written.
    unwritten: BTreeSet<Arc<str>>,
}

/// Writes the changed files, prints them, or shows the changes.
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
            terminal_style(session, OutputStream::Stdout, args.common.color),
        )?;
        return Ok(Delivered::default());
    }
    let mut delivered = Delivered::default();
    if args.write {
        let failures = write(session, &rewritten.changed).into_iter();
        delivered.unwritten = failures.map(|failure| failure.path).collect();
    } else if run.single || has_files(run) {
        let mut files = rewritten.set.targets();
        let whole = files.find(|file| file.fault.is_none());
        delivered.failed = !session.print_whole(whole.map(|file| &*file.text))?;
        return Ok(delivered);
    }
    // The result for standard input can only be printed.
    let is_unwritten = run.from_stdin && !session.print_whole(rewritten.set.from_stdin())?;
    delivered.failed |= is_unwritten || !delivered.unwritten.is_empty();
    Ok(delivered)
}

/// Returns the last line of output: what was changed, and what to know before it is applied.
fn summary(rewritten: &Rewritten, args: &RewriteArgs, delivered: &Delivered) -> String {
    let files = rewritten.changed.len();
    let counts = RewriteCounts::of(&rewritten.workloads, &delivered.unwritten);
    let RewriteCounts {
        workloads,
        refused,
        opted_out,
        ..
    } = counts;
    let (done, nothing) = if args.undo {
        ("restored", "Nothing to undo")
    } else {
        ("rewritten", "Nothing to rewrite")
    };
    if files == 0 && refused == 0 {
        let opted_out = match opted_out {
            0 => String::new(),
            count => format!(", {count} opted out"),
        };
        let workloads = counted(workloads, "workload");
        return format!("{nothing} ({workloads}{opted_out}).");
    }
    let would = if args.diff { "would be " } else { "" };
    let sum = rewrite_sum(&counts, &format!("{would}{done}"));
    if files == 0 {
        return format!("{sum}.");
    }
    let changed = if args.diff { "Would change" } else { "Changed" };
    let files_changed = counted(files, "file");
    if !delivered.unwritten.is_empty() {
        let written = files.saturating_sub(delivered.unwritten.len());
        return format!("{sum}. {changed} {written} of {files_changed}.");
    }
    let warning = match counts.previewed {
        0 => "",
        _ => ". Do not apply previews",
    };
    let note = format!("; applying the changes triggers rollouts{warning}");
    if prints_result(args) {
        return format!("{sum}{note}.");
    }
    format!("{sum}. {changed} {files_changed}{note}.")
}
