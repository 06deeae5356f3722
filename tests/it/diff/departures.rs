//! Workloads that leave an environment or enter one.

use super::{cause, changes, report, trees};
use crate::support::Run;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT, join};

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

type Files<'f> = Vec<(&'f str, &'f str)>;

fn compare(before: &[(&str, &str)], after: &[(&str, &str)]) -> Run {
    trees(before, after).run(&JSON)
}

/// Returns a tree with a namespace, a faulty workload in `apps/web.yaml`, and the given kustomizations.
fn tree<'f>(kustomizations: &[(&'f str, &'f str)]) -> Files<'f> {
    let apps = [
        ("apps/ns.yaml", INJECTED),
        ("apps/mtls.yaml", STRICT),
        ("apps/web.yaml", NOT_REWRITTEN),
    ];
    [&apps[..], kustomizations].concat()
}

const ALL: &str = "resources:\n- ../apps/ns.yaml\n- ../apps/mtls.yaml\n- ../apps/web.yaml\n";
const WITHOUT_WEB: &str = "resources:\n- ../apps/ns.yaml\n- ../apps/mtls.yaml\n";

#[track_caller]
fn remains(run: &Run, index: usize) -> String {
    let report = report(run);
    let text = report.pointer(&format!("/changes/{index}/remains"));
    text.unwrap().as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_removed_entry_removes_the_workload_from_its_environment() {
    let (before, after) = (
        tree(&[("prod/kustomization.yaml", ALL)]),
        tree(&[("prod/kustomization.yaml", WITHOUT_WEB)]),
    );
    let run = compare(&before, &after).exits(0);
    assert_eq!(changes(&run), ["removed web readinessProbe: fails -> none"]);
    assert_eq!(
        cause(&run, 0),
        "-before/prod/kustomization.yaml:4 `prod` does not deploy the workload any more"
    );
    assert_eq!(remains(&run, 0), "nothing deploys it now");
    let project = trees(&before, &after);
    project
        .run(&["diff", "--fail-on", "any", "before", "after"])
        .exits(1);
    let text = project.run(&["diff", "before", "after"]).stdout;
    let heading = "removed: 1 probe removed from an environment: before/prod/kustomization.yaml:4";
    assert!(text.starts_with(heading), "{text}");
    assert!(text.contains("; nothing deploys it now"), "{text}");
}

#[test]
fn an_added_entry_brings_the_fault_of_a_loose_file_into_an_environment() {
    let (before, after) = (
        tree(&[("prod/kustomization.yaml", WITHOUT_WEB)]),
        tree(&[("prod/kustomization.yaml", ALL)]),
    );
    let run = compare(&before, &after).exits(1);
    assert_eq!(changes(&run), ["added web readinessProbe: none -> fails"]);
    assert_eq!(
        cause(&run, 0),
        "after/prod/kustomization.yaml:4 `prod` deploys the workload now"
    );
    let working = |files: &Files<'static>| -> Files<'static> {
        let without_policy = files.iter().filter(|(path, _)| *path != "apps/mtls.yaml");
        without_policy.copied().collect()
    };
    let before = [&working(&before)[..], &[("apps/mtls.yaml", "# removed\n")]].concat();
    let after = [&working(&after)[..], &[("apps/mtls.yaml", "# removed\n")]].concat();
    let run = compare(&before, &after).exits(0);
    assert_eq!(changes(&run), [""; 0]);
    let added = report(&run);
    assert_eq!(added.pointer("/summary/added_without_fault").unwrap(), 1);
}

/// The environment, and not a line of the facts, makes the difference.
#[test]
fn a_loose_file_that_an_environment_breaks_is_a_regression() {
    let patched = "resources:\n- ../apps/ns.yaml\n- ../apps/mtls.yaml\n- ../apps/web.yaml\n\
                   patches:\n- target: {kind: Pod}\n  patch: |-\n    - {op: add, path: /metadata/annotations, value: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}}\n";
    let plain = |kustomization: &'static str| -> Files<'static> {
        vec![
            ("apps/ns.yaml", INJECTED),
            ("apps/mtls.yaml", STRICT),
            ("apps/web.yaml", PROBED),
            ("prod/kustomization.yaml", kustomization),
        ]
    };
    let run = compare(&plain(WITHOUT_WEB), &plain(patched)).exits(1);
    assert_eq!(changes(&run), ["regression web livenessProbe: ok -> fails"]);
    assert!(
        cause(&run, 0).starts_with("after/prod/kustomization.yaml:"),
        "{}",
        cause(&run, 0)
    );
}

#[test]
fn a_removed_overlay_removes_its_workloads_even_if_the_base_remains() {
    let base = (
        "apps/kustomization.yaml",
        "resources: [ns.yaml, mtls.yaml, web.yaml]\n",
    );
    let overlay = ("prod/kustomization.yaml", "resources: [../apps]\n");
    let (before, after) = (tree(&[base, overlay]), tree(&[base]));
    let run = compare(&before, &after).exits(0);
    assert_eq!(changes(&run), ["removed web readinessProbe: fails -> none"]);
    assert_eq!(
        cause(&run, 0),
        "-before/prod/kustomization.yaml:1 the environment that deploys the workload is removed"
    );
    assert_eq!(remains(&run, 0), "nothing deploys it now");
    // An overlay of the only environment is that environment.
    let run = compare(&after, &before).exits(0);
    assert_eq!(changes(&run), [""; 0]);
}

#[test]
fn another_environment_that_still_deploys_a_workload_is_named() {
    let both = |prod: &'static str| {
        tree(&[
            ("prod/kustomization.yaml", prod),
            ("staging/kustomization.yaml", ALL),
        ])
    };
    let run = compare(&both(ALL), &both(WITHOUT_WEB)).exits(0);
    assert_eq!(changes(&run), ["removed web readinessProbe: fails -> none"]);
    assert_eq!(remains(&run, 0), "`staging` deploys it");
    assert!(cause(&run, 0).starts_with("-before/prod/kustomization.yaml:4"));
    let run = compare(&both(WITHOUT_WEB), &both(ALL)).exits(1);
    assert_eq!(changes(&run), ["added web readinessProbe: none -> fails"]);
    assert_eq!(
        cause(&run, 0),
        "after/prod/kustomization.yaml:4 `prod` deploys the workload now"
    );
}

#[test]
fn a_workload_that_moves_to_another_environment_is_a_change() {
    let one = |prod: &'static str, staging: &'static str| {
        tree(&[
            ("prod/kustomization.yaml", prod),
            ("staging/kustomization.yaml", staging),
        ])
    };
    let run = compare(&one(ALL, WITHOUT_WEB), &one(WITHOUT_WEB, ALL));
    let found = changes(&run);
    // The other environment deploys no probes in the first state.
    assert_eq!(found, ["changed web readinessProbe: fails -> fails"]);
    assert_eq!(
        cause(&run.exits(0), 0),
        "-before/prod/kustomization.yaml:4 `staging` deploys the workload now, and `prod` does not any more"
    );
}

#[test]
fn an_entry_of_a_base_is_one_cause_for_all_environments_above_it() {
    let with = |base: &'static str| {
        tree(&[
            ("base/kustomization.yaml", base),
            ("prod/kustomization.yaml", "resources: [../base]\n"),
            ("staging/kustomization.yaml", "resources: [../base]\n"),
        ])
    };
    let text = |after: &'static str| {
        let project = trees(&with(ALL), &with(after));
        project.run(&["diff", "before", "after"]).stdout
    };
    let heading = |line: usize| {
        format!(
            "removed: 2 probes removed from an environment: before/base/kustomization.yaml:{line} (in `before`): `base` does not include the workload any more"
        )
    };
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let removed = joined(text(WITHOUT_WEB));
    assert!(removed.contains(&heading(4)), "{removed}");
    // The line of the entry remains, but kustomize does not read it: the changed line is that of the field.
    let misspelt = "resource:\n- ../apps/ns.yaml\n- ../apps/mtls.yaml\n- ../apps/web.yaml\n";
    let removed = joined(text(misspelt));
    assert!(removed.contains(&heading(1)), "{removed}");
}

#[test]
fn an_entry_of_a_base_is_named_for_the_environments_above_it() {
    let with = |entries: &'static str| {
        tree(&[
            ("apps/kustomization.yaml", entries),
            (
                "prod/kustomization.yaml",
                "resources: [../apps]\nnamespace: prod\n",
            ),
            (
                "test/kustomization.yaml",
                "resources: [../apps]\nnamespace: test\n",
            ),
        ])
    };
    let run = compare(
        &with("resources:\n- ns.yaml\n- mtls.yaml\n- web.yaml\n"),
        &with("resources:\n- ns.yaml\n- mtls.yaml\n"),
    );
    let found = changes(&run);
    let removed = found.iter().enumerate();
    let removed = removed.filter(|(_, change)| change.starts_with("removed web"));
    let indexes: Vec<usize> = removed.map(|(index, _)| index).collect();
    assert_eq!(indexes.len(), 2, "{found:?}");
    for index in indexes {
        let cause = cause(&run, index);
        assert!(
            cause.starts_with("-before/apps/kustomization.yaml:4"),
            "{cause}"
        );
    }
}

#[test]
fn a_renamed_environment_is_no_change() {
    for (old, new) in [
        ("prod/kustomization.yaml", "production/kustomization.yaml"),
        ("prod/kustomization.yaml", "prod/kustomization.yml"),
    ] {
        let run = compare(&tree(&[(old, ALL)]), &tree(&[(new, ALL)])).exits(0);
        assert_eq!(changes(&run), [""; 0], "{old} {new}");
    }
}

/// A fault that a loose file has already is not new in the first kustomization that lists it.
#[test]
fn a_first_kustomization_does_not_fail_for_old_faults() {
    let (before, after) = (tree(&[]), tree(&[("prod/kustomization.yaml", ALL)]));
    let run = compare(&before, &after).exits(0);
    assert_eq!(
        changes(&run),
        ["changed web readinessProbe: fails -> fails"]
    );
    assert_eq!(
        cause(&run, 0),
        "after/prod/kustomization.yaml:1 the environment that deploys the workload is new"
    );
    let run = compare(&after, &before).exits(0);
    assert_eq!(changes(&run), ["removed web readinessProbe: fails -> none"]);
}

fn flux(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: {name}\n  namespace: flux-system\n\
         spec: {{path: {path}, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
    )
}

#[test]
fn an_object_of_flux_that_does_not_deploy_a_folder_any_more_is_the_cause() {
    let (apps, infra) = (flux("apps", "./apps"), flux("infra", "./infra"));
    let both = join(&[&apps, &infra]);
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let with = |objects| {
        tree(&[
            ("clusters/prod/all.yaml", objects),
            ("infra/a.yaml", config),
        ])
    };
    let run = compare(&with(&both), &with(&infra)).exits(0);
    assert_eq!(changes(&run), ["removed web readinessProbe: fails -> none"]);
    assert_eq!(
        cause(&run, 0),
        "-before/clusters/prod/all.yaml:4 `clusters/prod/all.yaml` does not deploy the workload any more"
    );
    // A deploying object that moves to another file deploys the same.
    let moved = tree(&[
        ("clusters/prod/apps.yaml", &apps),
        ("clusters/prod/all.yaml", &infra),
        ("infra/a.yaml", config),
    ]);
    assert_eq!(changes(&compare(&with(&both), &moved)), [""; 0]);
}

#[test]
fn one_of_several_clusters_that_remains_is_no_change() {
    let (one, two) = (flux("one", "./apps"), flux("two", "./apps"));
    let both = tree(&[
        ("clusters/one/a.yaml", &*one),
        ("clusters/two/a.yaml", &*two),
    ]);
    for remaining in [
        ("clusters/one/a.yaml", &*one),
        ("clusters/two/a.yaml", &*two),
    ] {
        let run = compare(&both, &tree(&[remaining])).exits(0);
        assert_eq!(
            changes(&run),
            ["removed web readinessProbe: fails -> none"],
            "{}",
            remaining.0
        );
        let gone = if remaining.0.contains("one") {
            "two"
        } else {
            "one"
        };
        let cause = cause(&run, 0);
        assert!(
            cause.starts_with(&format!("-before/clusters/{gone}/a.yaml")),
            "{cause}"
        );
    }
}
