//! `meshprobe rewrite`.

use crate::engine::{self, Exit, Rewritten, failing};
use crate::finding::Severity;
use crate::report::counted;
use crate::settings::{FailOn, Form};

use super::args::RewriteArgs;
use super::check::print_diffs;
use super::input::{Run, prepare, tell_files, tell_findings};
use super::output::{Stop, errln, print_whole, write};
use super::terminal::look;

pub(super) fn run(args: &RewriteArgs) -> Result<Exit, Stop> {
    let mut run = prepare(&args.common)?;
    let to_stdout = !args.write && !args.diff;
    if to_stdout && !run.single {
        return Err(Stop::usage(
            "standard output takes one file only: give --write to rewrite in place, or --diff to see the change",
        ));
    }
    run.layer.allow.extend(args.allow.iter().cloned());
    if let Some(form) = args.form {
        run.layer.form = Some(Form::from(form));
    }
    let settings = run.layer.resolved(FailOn::default());
    tell_files(&run.set, &args.common);
    let rewritten = run.on_threads(|| engine::rewrite(&run.set, &settings));
    tell_findings(&run.set, &rewritten.findings, &args.common);
    let delivered = deliver(&run, &rewritten, args)?;
    if !args.common.quiet && !to_stdout {
        errln(&told(&rewritten, args, delivered.unwritten));
    }
    let refused = failing(&rewritten.findings, FailOn::Severity(Severity::Error));
    Ok(run
        .exit()
        .or(refused, Exit::Findings)
        .or(args.diff && !rewritten.changed.is_empty(), Exit::Findings)
        .or(delivered.failed, Exit::Failure))
}

/// What became of the result.
#[derive(Default)]
struct Delivered {
    /// A write failed, or there was nothing whole to print.
    failed: bool,
    /// How many files could not be written.
    unwritten: usize,
}

/// Writes, shows or prints.
fn deliver(run: &Run, rewritten: &Rewritten, args: &RewriteArgs) -> Result<Delivered, Stop> {
    if args.diff {
        print_diffs(
            &rewritten.changed,
            look(&std::io::stdout(), args.common.color),
        )?;
        return Ok(Delivered::default());
    }
    if args.write {
        let unwritten = write(&rewritten.changed).len();
        // Standard input has no other place to be written to.
        let is_lost = run.from_stdin && !print_whole(rewritten.set.from_stdin())?;
        return Ok(Delivered {
            failed: is_lost || unwritten > 0,
            unwritten,
        });
    }
    let mut files = rewritten.set.targets();
    let whole = files.find(|file| file.fault.is_none());
    Ok(Delivered {
        failed: !print_whole(whole.map(|file| &*file.text))?,
        unwritten: 0,
    })
}

fn told(rewritten: &Rewritten, args: &RewriteArgs, unwritten: usize) -> String {
    if rewritten.changed.is_empty() {
        return "Nothing to rewrite.".into();
    }
    let files = rewritten.changed.len();
    if unwritten > 0 {
        let done = files.saturating_sub(unwritten);
        return format!("Rewrote {done} of {}.", counted(files, "file"));
    }
    let would = if args.write {
        "Rewrote"
    } else {
        "Would rewrite"
    };
    format!(
        "{would} {} in {}; each such workload rolls when applied.",
        counted(rewritten.pods, "pod template"),
        counted(files, "file")
    )
}
