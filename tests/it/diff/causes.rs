//! The cause of a change: the line that makes the difference.

use super::{cause, changes, report, trees};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT};

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

#[test]
fn a_new_probe_is_its_own_cause() {
    let strict = [("ns.yaml", INJECTED), ("mtls.yaml", STRICT)];
    let added = [&strict[..], &[("web.yaml", NOT_REWRITTEN)]].concat();
    let run = trees(&strict, &added).run(&JSON).exits(1);
    assert_eq!(
        cause(&run, 0),
        "after/web.yaml:10 the probe `http :8080/` is new"
    );
    let back = trees(&added, &strict).run(&JSON).exits(0);
    assert_eq!(
        cause(&back, 0),
        "-before/web.yaml:10 the probe `http :8080/` is removed"
    );
}

#[test]
fn new_probes_of_several_files_are_one_group() {
    let api = NOT_REWRITTEN.replace("name: web", "name: api");
    let strict = [("ns.yaml", INJECTED), ("mtls.yaml", STRICT)];
    let more = [("web.yaml", NOT_REWRITTEN), ("api.yaml", &*api)];
    let run = trees(&strict, &[&strict[..], &more[..]].concat())
        .run(&["diff", "before", "after"])
        .exits(1);
    assert!(
        run.stdout
            .starts_with("added: 2 new probes with a fault\n  WORKLOAD"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_new_environment_is_the_cause_of_its_probes() {
    let base = [
        (
            "base/kustomization.yaml",
            "resources: [ns.yaml, web.yaml, mtls.yaml]\n",
        ),
        ("base/ns.yaml", INJECTED),
        ("base/web.yaml", NOT_REWRITTEN),
        ("base/mtls.yaml", STRICT),
        (
            "one/kustomization.yaml",
            "resources: [../base]\nnamespace: one\n",
        ),
    ];
    let overlay = (
        "two/kustomization.yaml",
        "resources: [../base]\nnamespace: two\n",
    );
    let both = [&base[..], &[overlay]].concat();
    let run = trees(&base, &both).run(&JSON).exits(1);
    assert_eq!(changes(&run), ["added web readinessProbe: none -> fails"]);
    assert_eq!(
        cause(&run, 0),
        "after/two/kustomization.yaml:1 the environment that deploys the workload is new"
    );
    let removed = trees(&both, &base).run(&JSON).exits(0);
    assert_eq!(
        changes(&removed),
        ["removed web readinessProbe: fails -> none"]
    );
}

#[test]
fn a_policy_that_shows_a_mesh_is_the_cause() {
    let before = [("web.yaml", PROBED)];
    let after = [("web.yaml", PROBED), ("mtls.yaml", STRICT)];
    let run = trees(&before, &after).run(&JSON).exits(0);
    assert_eq!(
        changes(&run),
        [
            "changed namespace-unknown",
            "changed web livenessProbe: unknown -> ok"
        ]
    );
    let cause = cause(&run, 1);
    assert!(
        cause.starts_with("after/mtls.yaml:3 namespace `shop` is injected"),
        "{cause}"
    );
}

#[test]
fn every_change_of_a_probe_has_a_cause() {
    let before = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("api.yaml", PROBED),
    ];
    let after = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ];
    for project in [trees(&before, &after), trees(&after, &before)] {
        let report = report(&project.run(&JSON));
        let all = report.pointer("/changes").unwrap().as_array().unwrap();
        assert!(!all.is_empty());
        for change in all {
            assert!(change.pointer("/cause/message").is_some(), "{change}");
        }
    }
}
