//! What each stage of `check` costs: `cargo bench --bench stages -- [TREE]`.
//!
//! Prints the CPU time of each stage on one thread, and the peak memory of the process at its end (Linux). `TREE` is a
//! folder of manifests; without it, the fixtures are read.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark may fail by panicking"
)]

use std::path::PathBuf;

use meshprobe::context::Context;
use meshprobe::engine::{self, AnalysisRequest};
use meshprobe::gitops::render_relevant;
use meshprobe::predict::predict_all;
use meshprobe::report::{CheckReport, json};
use meshprobe::rules;
use meshprobe::settings::{FailOn, Layer};
use meshprobe::source::{Folders, Input, Request, find};

fn main() {
    let tree = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with("--"));
    let tree = tree.unwrap_or_else(|| "fixtures/gitops".to_owned());
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1);
    threads.build().unwrap().install(|| stages(&tree));
}

fn stages(tree: &str) {
    let request = Request {
        targets: vec![Input::Path(PathBuf::from(tree))],
        working_directory: std::env::current_dir().unwrap(),
        ..Request::default()
    };
    let settings = Layer::default().resolved(FailOn::default());
    println!("| stage | CPU s | peak MiB at its end |\n|---|---|---|");
    let mut clock = Clock(processor_seconds());
    let found = find(&request, &mut Folders::of(request.filesystem.clone()));
    clock.stage("find files");
    let set = engine::load(&request);
    clock.stage("find, read, parse, follow names");
    let renderings = render_relevant(&set);
    clock.stage("render");
    let context = Context::new(&set, &renderings, &settings);
    clock.stage("facts");
    let predictions = predict_all(&context);
    clock.stage("predict");
    let reported = rules::check(&context, &predictions);
    clock.stage("rules");
    let request = AnalysisRequest {
        renderings: Some(&renderings),
        ..AnalysisRequest::new(&set, &settings)
    };
    let outcome = engine::analyse(&request).outcome;
    clock.stage("facts to findings, as `check` runs them");
    let text = json(&CheckReport::new(&set, &outcome, None)).unwrap();
    clock.stage("report");
    println!(
        "\n{} files, {} predicted workloads, {} findings of rules, {} bytes of JSON",
        found.len(),
        predictions.len(),
        reported.len(),
        text.len()
    );
}

/// The CPU time at the end of the last stage.
struct Clock(f64);

impl Clock {
    fn stage(&mut self, name: &str) {
        let now = processor_seconds();
        println!("| {name} | {:.3} | {} |", now - self.0, peak_mebibytes());
        self.0 = now;
    }
}

/// Returns the CPU time of the process: fields 14 and 15 of `/proc/self/stat` (proc(5)), in hundredths of a second.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let used = fields.split_whitespace().skip(11).take(2);
    used.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// Returns the peak memory of the process (`VmHWM` of proc(5)).
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() / 1024
}
