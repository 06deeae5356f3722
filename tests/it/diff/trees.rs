//! Two trees, or two rendered files.

use super::{cause, changes, report, trees};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

#[test]
fn a_policy_breaks_a_probe() {
    let base = [("ns.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)];
    let strict = [&base[..], &[("mtls.yaml", STRICT)]].concat();
    let run = trees(&base, &strict).run(&JSON).exits(1);
    assert_eq!(
        changes(&run),
        ["regression web readinessProbe: ok -> fails"]
    );
    assert_eq!(
        cause(&run, 0),
        "after/mtls.yaml:4 STRICT for namespace `shop`"
    );
    let back = trees(&strict, &base).run(&JSON).exits(0);
    assert_eq!(
        changes(&back),
        ["improvement web readinessProbe: fails -> ok"]
    );
    assert_eq!(
        cause(&back, 0),
        "-before/mtls.yaml:4 STRICT for namespace `shop`"
    );
}

#[test]
fn old_faults_are_not_shown() {
    let broken = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ];
    let run = trees(&broken, &broken).run(&JSON).exits(0);
    assert_eq!(changes(&run), [""; 0]);
    let summary = report(&run);
    assert_eq!(summary.pointer("/summary/unchanged_faults").unwrap(), 1);
}

#[test]
fn a_changed_probe_is_its_own_cause() {
    let tcp = NOT_REWRITTEN.replace("httpGet: {path: /, port: 8080}", "tcpSocket: {port: 8080}");
    let before = [("ns.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)];
    let after = [("ns.yaml", INJECTED), ("web.yaml", &*tcp)];
    let run = trees(&before, &after).run(&JSON).exits(1);
    assert_eq!(
        changes(&run),
        ["regression web readinessProbe: ok -> always-passes"]
    );
    assert_eq!(
        cause(&run, 0),
        "after/web.yaml:10 the probe is `tcp :8080`, and was `http :8080/`"
    );
}

#[test]
fn a_label_that_makes_a_policy_apply_is_the_cause() {
    let selecting = STRICT.replace(
        "spec: {mtls",
        "spec: {selector: {matchLabels: {app: web}}, mtls",
    );
    let labelled =
        NOT_REWRITTEN.replace("  name: web\n  n", "  name: web\n  labels: {app: web}\n  n");
    let before = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", &*selecting),
    ];
    let after = [
        ("ns.yaml", INJECTED),
        ("web.yaml", &*labelled),
        ("mtls.yaml", &*selecting),
    ];
    let run = trees(&before, &after)
        .run(&["diff", "before", "after"])
        .exits(1);
    let sentence = "regression: after/web.yaml:5 breaks 1 probe: `labels.app: web` is new";
    assert!(run.stdout.starts_with(sentence), "{}", run.stdout);
}

#[test]
fn new_and_removed_probes() {
    let faulty = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ];
    let empty = [("ns.yaml", INJECTED), ("mtls.yaml", STRICT)];
    let run = trees(&empty, &faulty).run(&JSON).exits(1);
    assert_eq!(changes(&run), ["added web readinessProbe: none -> fails"]);
    let run = trees(&faulty, &empty).run(&JSON).exits(0);
    assert_eq!(changes(&run), ["removed web readinessProbe: fails -> none"]);
    let without_fault = [("ns.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)];
    let run = trees(&[("ns.yaml", INJECTED)], &without_fault)
        .run(&JSON)
        .exits(0);
    assert_eq!(changes(&run), [""; 0]);
}

#[test]
fn rendered_files() {
    let before = join(&[INJECTED, NOT_REWRITTEN]);
    let after = join(&[INJECTED, NOT_REWRITTEN, STRICT]);
    let project = Project::with(&[("before.yaml", &before), ("after.yaml", &after)]);
    let arguments = ["diff", "--output-format", "json", "before.yaml"];
    let run = project
        .run(&[&arguments[..], &["after.yaml"]].concat())
        .exits(1);
    assert_eq!(
        changes(&run),
        ["regression web readinessProbe: ok -> fails"]
    );
    let piped = project
        .pipe(&[&arguments[..], &["-"]].concat(), &after)
        .exits(1);
    assert_eq!(changes(&piped), changes(&run));
}

#[test]
fn findings_without_a_handler() {
    let broken = [
        ("ns.yaml", INJECTED),
        ("broken.yaml", "apiVersion: v1\nkind: Pod\n a: [\n"),
    ];
    let run = trees(&[("ns.yaml", INJECTED)], &broken).run(&JSON).exits(1);
    assert_eq!(changes(&run), ["regression syntax-error"]);
    let run = trees(&broken, &[("ns.yaml", INJECTED)]).run(&JSON).exits(0);
    assert_eq!(changes(&run), ["improvement syntax-error"]);
}

#[test]
fn suppressed_findings_do_not_fail() {
    let base = [("ns.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)];
    let suppressed = NOT_REWRITTEN.replace(
        "    readinessProbe",
        "    # meshprobe: ignore[strict-probe-not-rewritten] known\n    readinessProbe",
    );
    let after = [
        ("ns.yaml", INJECTED),
        ("web.yaml", &*suppressed),
        ("mtls.yaml", STRICT),
    ];
    let run = trees(&base, &after).run(&JSON).exits(0);
    assert_eq!(changes(&run), [""; 0]);
    let summary = report(&run);
    assert_eq!(summary.pointer("/summary/suppressed").unwrap(), 1);
}

#[test]
fn the_exit_code_follows_the_option() {
    let base = [("ns.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)];
    let strict = [&base[..], &[("mtls.yaml", STRICT)]].concat();
    let project = trees(&base, &strict);
    project.write("fewer/ns.yaml", INJECTED);
    for (fail_on, forward, back, removed) in [
        ("regression", 1, 0, 0),
        ("removed", 1, 0, 1),
        ("any", 1, 1, 1),
        ("never", 0, 0, 0),
    ] {
        let run = |from, to| project.run(&["diff", "--fail-on", fail_on, from, to]);
        run("before", "after").exits(forward);
        run("after", "before").exits(back);
        run("before", "fewer").exits(removed);
    }
}

#[test]
fn a_missing_tree_is_an_error() {
    let project = trees(&[("ns.yaml", INJECTED)], &[("ns.yaml", INJECTED)]);
    project
        .run(&["diff", "before", "missing"])
        .exits(2)
        .stdout_contains("");
}

#[test]
fn empty_standard_input_is_reported_once() {
    let project = Project::with(&[("before.yaml", &join(&[INJECTED, NOT_REWRITTEN]))]);
    for input in ["", "\n"] {
        let run = project.pipe(&["diff", "before.yaml", "-"], input).exits(2);
        let count = run.stderr.matches("standard input is empty").count();
        assert_eq!(count, 1, "{}", run.stderr);
    }
}

/// Git converts the ends of lines of files that are otherwise unchanged.
#[test]
fn other_ends_of_lines_are_no_change_of_what_is_not_judged() {
    let broken = format!("{NOT_REWRITTEN}  bad: [\n");
    let other = broken.replace('\n', "\r\n");
    let chart = (
        "chart/Chart.yaml",
        "apiVersion: v2\nname: a\nversion: 0.1.0\n",
    );
    let template = "kind: Pod\nmetadata: {name: {{ .Release.Name }}}\n";
    let crlf = template.replace('\n', "\r\n");
    let project = trees(
        &[
            ("web.yaml", &*broken),
            chart,
            ("chart/templates/a.yaml", template),
        ],
        &[
            ("web.yaml", &*other),
            chart,
            ("chart/templates/a.yaml", &*crlf),
        ],
    );
    let run = project.run(&JSON).exits(0);
    let parts = report(&run);
    let parts = parts.pointer("/changed_not_judged").unwrap();
    assert_eq!(parts.as_array().unwrap().len(), 0, "{}", run.stdout);
}

/// A rendering that failed looks like removed workloads.
#[test]
fn an_empty_tree_has_a_note() {
    let manifest = join(&[INJECTED, NOT_REWRITTEN]);
    let project = Project::with(&[
        ("before.yaml", &manifest),
        ("after.yaml", "# nothing\n"),
        ("folder/notes.txt", "a"),
    ]);
    for empty in ["after.yaml", "folder"] {
        let run = project.run(&["diff", "--output-format", "json", "before.yaml", empty]);
        assert_eq!(changes(&run), ["removed web readinessProbe: ok -> none"]);
        let note = format!("`{empty}` contains no objects; if it was rendered");
        assert!(run.stderr.contains(&note), "{}", run.stderr);
        let notes = report(&run);
        let notes = notes.pointer("/notes/0").unwrap().as_str().unwrap();
        assert!(notes.starts_with(&note), "{notes}");
        run.exits(0);
    }
    let full = project
        .run(&["diff", "before.yaml", "before.yaml"])
        .exits(0);
    assert_eq!(full.stderr, "");
}
