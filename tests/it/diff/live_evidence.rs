//! Each changed verdict about sidecars in the demo tree agrees with what the live proof measured.

use serde_json::Value;

use super::report;
use crate::support::{fixture, meshprobe};

/// One row of the evidence.
struct Cell {
    application: String,
    handler: String,
    port: String,
    mode: String,
    without_mesh: String,
    original: String,
    rewritten: String,
}

fn evidence() -> Vec<Cell> {
    let text = std::fs::read_to_string("docs/evidence/live-proof.csv").unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("workload,application,handler,port,mode,without_mesh,original,rewritten")
    );
    let cells = lines.map(|line| {
        let parts: Vec<String> = line.split(',').map(str::to_owned).collect();
        let [
            _,
            application,
            handler,
            port,
            mode,
            without_mesh,
            original,
            rewritten,
        ] = <[String; 8]>::try_from(parts).unwrap();
        Cell {
            application,
            handler,
            port,
            mode,
            without_mesh,
            original,
            rewritten,
        }
    });
    cells.collect()
}

/// Returns the cells about a kind of handler on a kind of port in a mode, of applications that behave in one way.
fn cells<'c>(
    all: &'c [Cell],
    handler: &str,
    port: &str,
    mode: &str,
    application: &str,
) -> Vec<&'c Cell> {
    let wanted = |cell: &&Cell| {
        (&*cell.handler, &*cell.port, &*cell.mode, &*cell.application)
            == (handler, port, mode, application)
    };
    all.iter().filter(wanted).collect()
}

/// Returns the error if the evidence lacks a prediction, or disagrees with it.
fn contradiction(all: &[Cell], state: &Value, port: &str, mode: &str) -> Option<String> {
    let text = |key: &str| state.get(key).and_then(Value::as_str);
    let handler = match text("probe")?.split(' ').next()? {
        "http" => "http",
        "grpc" => "grpc",
        "tcp" => "tcpSocket",
        other => return Some(format!("no evidence about {other}")),
    };
    let is_rewritten = text("rewritten_to").is_some();
    let measured = |cell: &Cell| match is_rewritten {
        true => cell.rewritten.clone(),
        false => cell.original.clone(),
    };
    // A probe that works passes and fails as it does without a mesh. One that always passes is about dead applications.
    let (outcome, applications) = match text("outcome")? {
        "ok" => (None, &["alive", "dead"][..]),
        "fails" => (Some("fail"), &["alive"][..]),
        "always-passes" => (Some("pass"), &["dead"][..]),
        other => return Some(format!("no evidence about the outcome {other}")),
    };
    applications.iter().find_map(|application| {
        let mut found = cells(all, handler, port, mode, application);
        // An application that is alive and fails without a mesh says nothing about the mesh.
        found.retain(|cell| *application == "dead" || cell.without_mesh == "pass");
        // The cell of a rewritten probe is empty if `rewrite` refuses the workload.
        found.retain(|cell| !measured(cell).is_empty());
        if found.is_empty() {
            return Some(format!(
                "no cell for {handler}, {port}, {mode}, {application}"
            ));
        }
        let disagrees = |cell: &&&Cell| measured(cell) != outcome.unwrap_or(&cell.without_mesh);
        let wrong = found.iter().filter(disagrees).count();
        (wrong > 0).then(|| format!("{wrong} of {} cells disagree: {state}", found.len()))
    })
}

/// Returns the kind of port in the evidence, by the Services of the demo tree.
fn port_of(probe: &Value) -> &'static str {
    let text = |key: &str| probe.get(key).and_then(Value::as_str).unwrap_or_default();
    match (text("name"), text("slot")) {
        ("payments", "livenessProbe") => "Service grpc-*",
        ("payments" | "storefront", _) => "Service http-*",
        ("cache", _) => "Service tcp-*",
        other => panic!("{other:?}"),
    }
}

fn demo(options: &[&str]) -> Vec<Value> {
    let start = ["diff", "--isolated", "--output-format", "json"];
    let run = meshprobe(&fixture("demo"), &[&start[..], options].concat(), "");
    let changes = report(&run)
        .pointer("/changes")
        .unwrap()
        .as_array()
        .unwrap()
        .clone();
    changes
        .into_iter()
        .filter(|change| !change["probe"].is_null())
        .collect()
}

#[test]
fn each_changed_verdict_was_measured() {
    let all = evidence();
    for (options, expected, modes) in [
        (
            &["--from", "mtls=PERMISSIVE", "--to", "mtls=STRICT"][..],
            2,
            ("permissive", "strict"),
        ),
        (
            &["--from", "mtls=DISABLE", "--to", "mtls=STRICT"],
            2,
            ("disable", "strict"),
        ),
        (&["--to", "rewrite=false"], 2, ("strict", "strict")),
        (&["--from", "dataplane=none"], 5, ("", "strict")),
    ] {
        let changes = demo(options);
        assert_eq!(changes.len(), expected, "{options:?}");
        for change in changes {
            let port = port_of(&change["probe"]);
            for (state, mode) in [(&change["before"], modes.0), (&change["after"], modes.1)] {
                // Without a mesh there is nothing to measure.
                if mode.is_empty() {
                    assert_eq!(state["outcome"], "not-in-mesh");
                    continue;
                }
                let found = contradiction(&all, state, port, mode);
                assert_eq!(found, None, "{options:?}: {change}");
            }
        }
    }
}

#[test]
fn a_wrong_verdict_contradicts_the_evidence() {
    let all = evidence();
    let state =
        |outcome: &str, probe: &str| serde_json::json!({"outcome": outcome, "probe": probe});
    let is_wrong =
        |state: &Value, port: &str, mode: &str| contradiction(&all, state, port, mode).is_some();
    assert!(is_wrong(
        &state("ok", "http :80/"),
        "Service http-*",
        "strict"
    ));
    assert!(!is_wrong(
        &state("fails", "http :80/"),
        "Service http-*",
        "strict"
    ));
    assert!(is_wrong(
        &state("fails", "http :80/"),
        "Service http-*",
        "permissive"
    ));
    assert!(is_wrong(
        &state("fails", "tcp :80"),
        "Service tcp-*",
        "strict"
    ));
    assert!(is_wrong(
        &state("ok", "http :80/"),
        "a port that was not measured",
        "strict"
    ));
}

#[test]
fn each_verdict_about_ambient_mode_names_a_source() {
    for options in [
        &["--to", "dataplane=ambient"][..],
        &["--from", "dataplane=ambient"],
    ] {
        let changes = demo(options);
        assert_eq!(changes.len(), 5);
        for change in changes {
            let source = change["cause"]["source"].as_str().unwrap_or_default();
            assert!(source.contains('/'), "{change}");
        }
    }
}
