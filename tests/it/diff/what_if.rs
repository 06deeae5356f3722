//! One tree with two sets of facts.

use super::{cause, changes};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT, join};
use crate::support::project::Project;

fn tree() -> Project {
    let bank = NOT_REWRITTEN.replace("namespace: shop", "namespace: bank");
    let namespace = INJECTED.replace("name: shop", "name: bank");
    Project::with(&[
        ("shop.yaml", &join(&[INJECTED, NOT_REWRITTEN])),
        ("bank.yaml", &join(&[&namespace, &bank])),
    ])
}

fn run(project: &Project, options: &[&str], code: i32) -> (Vec<String>, String) {
    let run = project
        .run(&[&["diff", "--output-format", "json"], options].concat())
        .exits(code);
    let found = changes(&run);
    let cause = if found.is_empty() {
        String::new()
    } else {
        cause(&run, 0)
    };
    (found, cause)
}

#[test]
fn strict_breaks_probes_that_are_not_rewritten() {
    let (found, cause) = run(&tree(), &["--to", "mtls=STRICT"], 1);
    assert_eq!(found, ["regression web readinessProbe: ok -> fails"; 2]);
    assert_eq!(cause, "`--to mtls=STRICT`");
    let (found, _) = run(&tree(), &["--from", "mtls=STRICT"], 0);
    assert_eq!(found, ["improvement web readinessProbe: fails -> ok"; 2]);
}

#[test]
fn a_selection_limits_the_fact() {
    let options = ["--to", "mtls=STRICT", "--select-namespace", "shop"];
    let (found, cause) = run(&tree(), &options, 1);
    assert_eq!(found, ["regression web readinessProbe: ok -> fails"]);
    assert_eq!(cause, "`--to mtls=STRICT --select-namespace shop`");
    let labelled = NOT_REWRITTEN.replace("  name: web\n", "  name: web\n  labels: {tier: front}\n");
    let project = Project::with(&[("shop.yaml", &join(&[INJECTED, &labelled, PROBED]))]);
    let options = ["--to", "mtls=STRICT", "--select-labels", "tier=front"];
    let (found, _) = run(&project, &options, 1);
    assert_eq!(found, ["regression web readinessProbe: ok -> fails"]);
}

#[test]
fn moving_a_namespace() {
    let options = ["--to", "dataplane=ambient", "--select-namespace", "shop"];
    let strict = Project::with(&[("all.yaml", &join(&[INJECTED, NOT_REWRITTEN, STRICT]))]);
    let (found, _) = run(&strict, &options, 0);
    let expected = [
        "changed ambient-rewrite-annotation-dead",
        "improvement web readinessProbe: fails -> ok",
    ];
    assert_eq!(found, expected);
    let (found, _) = run(&strict, &["--to", "dataplane=none"], 0);
    assert_eq!(
        found,
        ["improvement web readinessProbe: fails -> not-in-mesh"]
    );
}

#[test]
fn a_release_without_the_rewrite() {
    let grpc = PROBED.replace("httpGet: {path: /, port: 8080}", "grpc: {port: 8080}");
    let project = Project::with(&[("all.yaml", &join(&[INJECTED, &grpc, STRICT]))]);
    let options = ["--from", "mesh-version=1.12", "--to", "mesh-version=1.13"];
    let (found, cause) = run(&project, &options, 0);
    assert_eq!(found, ["improvement web livenessProbe: fails -> ok"]);
    let fact = "since Istio 1.13, the injector rewrites grpc probes";
    assert!(cause.starts_with(fact), "{cause}");
}

#[test]
fn a_release_is_not_blamed_for_another_fact() {
    let options = [
        "--from",
        "mesh-version=1.24",
        "--to",
        "mesh-version=1.31",
        "--to",
        "rewrite=false",
    ];
    let project = Project::with(&[("all.yaml", &join(&[INJECTED, PROBED, STRICT]))]);
    let (found, cause) = run(&project, &options, 1);
    assert_eq!(found, ["regression web livenessProbe: ok -> fails"]);
    assert!(cause.starts_with("`--from "), "{cause}");
}

#[test]
fn wrong_options_are_rejected() {
    for (options, message) in [
        (
            &["--to", "mtls=MAYBE"][..],
            "invalid value `mtls=MAYBE` for `--to`",
        ),
        (&["--from", "nothing=1"], "unknown key `nothing`"),
        (
            &["--select-namespace", "shop"],
            "require `--from` or `--to`",
        ),
        (
            &["--from", "mtls=STRICT", "--to", "mtls=STRICT"],
            "state the same facts",
        ),
        (&["--to", "mesh-version=2.5"], "is not a release of Istio"),
        (
            &["--to", "mtls=STRICT", "--select-labels", "x"],
            "expected `LABEL=VALUE`",
        ),
    ] {
        let run = tree().run(&[&["diff"], options].concat()).exits(2);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn a_release_that_is_not_modelled_is_named() {
    let run = tree().run(&["diff", "--to", "mesh-version=1.99"]).exits(0);
    let note = "note: Istio 1.99 is newer than 1.31";
    assert!(run.stderr.contains(note), "{}", run.stderr);
}
