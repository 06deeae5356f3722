//! How the cost of a run grows with its input: `cargo bench --bench growth`.
//!
//! Each axis runs at n, 2n and 4n; the exponent is the slope of the logarithms: 1 is linear, 2 is quadratic. Arguments
//! after `--` select axes by a part of their names, and a number among them replaces n. `MESHPROBE` sets another
//! binary.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    dead_code,
    unreachable_pub,
    reason = "a benchmark may fail by panicking"
)]

use std::path::{Path, PathBuf};

#[path = "../fixtures/hostile/generators/mod.rs"]
mod generators;

use generators::measure::{check, line, seconds};
use generators::{AXES, Axis, LOADS, Load};

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let (sizes, wanted): (Vec<String>, Vec<String>) = wanted
        .into_iter()
        .partition(|argument| argument.parse::<usize>().is_ok());
    let size: Option<usize> = sizes.first().and_then(|size| size.parse().ok());
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    let program = std::env::var_os("MESHPROBE").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_meshprobe")),
        PathBuf::from,
    );
    line("| axis | n | n: CPU s | 2n | 4n | exponent |\n|---|---|---|---|---|---|");
    for axis in AXES.iter().filter(|axis| is_wanted(axis.name)) {
        line(&row(&program, axis, size.unwrap_or(axis.size)));
    }
    if size.is_some() {
        return;
    }
    line("\n| tree | peak MiB | exit |\n|---|---|---|");
    for load in LOADS.iter().filter(|load| is_wanted(load.name)) {
        line(&peak(&program, load));
    }
}

/// Duration in seconds above which the size is not doubled again.
const LONG: f64 = 4.0;

fn row(program: &Path, axis: &Axis, size: usize) -> String {
    let empty = seconds(program, axis, 1);
    let mut costs: Vec<(usize, f64)> = Vec::new();
    for size in [size, size * 2, size * 4] {
        if costs.last().is_none_or(|(_, cost)| *cost < LONG) {
            costs.push((size, seconds(program, axis, size)));
        }
    }
    // The time to start the program does not grow with the input.
    let net = |cost: f64| (cost - empty).max(0.001);
    let ((small, low), (large, high)) = (costs[0], costs[costs.len() - 1]);
    #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
    let growth = large as f64 / small as f64;
    let exponent = (net(high) / net(low)).ln() / growth.ln();
    let shown = |at: usize| {
        let cost = costs.get(at);
        cost.map_or_else(String::new, |(_, cost)| format!("{cost:.3}"))
    };
    format!(
        "| {} | {small} | {} | {} | {} | {exponent:.2} |",
        axis.name,
        shown(0),
        shown(1),
        shown(2)
    )
}

fn peak(program: &Path, load: &Load) -> String {
    let run = check(program, &(load.files)(), &["-q"]);
    let code = run
        .code
        .map_or_else(|| "killed".to_owned(), |code| code.to_string());
    format!("| {} | {} | {code} |", load.name, run.peak / 1024)
}
