//! Everything with which kustomize does not build a kustomization any more is a regression.

use super::{changes, trees};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN};

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

const BASE: [(&str, &str); 4] = [
    (
        "base/kustomization.yaml",
        "resources: [ns.yaml, web.yaml]\n",
    ),
    ("base/ns.yaml", INJECTED),
    ("base/web.yaml", NOT_REWRITTEN),
    ("prod/kustomization.yaml", "resources:\n- ../base\n"),
];

/// Returns the base without a file, and with other files.
fn with<'f>(without: &str, files: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let kept = BASE.into_iter().filter(|(path, _)| *path != without);
    kept.chain(files.iter().copied()).collect()
}

#[test]
fn all_that_breaks_a_build_is_a_regression_and_its_repair_an_improvement() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let prod = "prod/kustomization.yaml";
    for (name, after) in [
        ("a missing file", with("base/web.yaml", &[])),
        (
            "a folder without a kustomization",
            with("base/kustomization.yaml", &[]),
        ),
        (
            "a file that is not YAML",
            with("base/web.yaml", &[("base/web.yaml", "a: b: c:\n")]),
        ),
        (
            "a file without objects",
            with("base/web.yaml", &[("base/web.yaml", "a: b\n")]),
        ),
        (
            "a folder in place of a file",
            with("base/web.yaml", &[("base/web.yaml/other.yaml", other)]),
        ),
        (
            "an unknown field",
            with(prod, &[(prod, "resource:\n- ../base\n")]),
        ),
        (
            "a string in place of a list",
            with(prod, &[(prod, "resources: ../base\n")]),
        ),
        (
            "no settings",
            with(prod, &[(prod, "kind: Kustomization\n")]),
        ),
        (
            "a wrong kind",
            with(
                prod,
                &[(prod, "kind: Kustomisation\nresources:\n- ../base\n")],
            ),
        ),
        (
            "a cycle",
            with(prod, &[(prod, "resources:\n- ../base\n- ../prod\n")]),
        ),
        (
            "a patch file that does not exist",
            with(
                prod,
                &[(
                    prod,
                    "resources:\n- ../base\npatches:\n- path: absent.yaml\n",
                )],
            ),
        ),
        (
            "a number among the common labels",
            with(
                prod,
                &[(prod, "resources:\n- ../base\ncommonLabels: {version: 1}\n")],
            ),
        ),
        (
            "a patch without an object",
            with(
                prod,
                &[(
                    prod,
                    "resources:\n- ../base\npatches:\n- patch: |\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: other}\n",
                )],
            ),
        ),
    ] {
        let project = trees(&BASE, &after);
        let run = project.run(&JSON);
        let found = changes(&run);
        let is_regression = |change: &String| {
            change == "regression kustomization-not-modelled" || change == "regression syntax-error"
        };
        assert!(found.iter().any(is_regression), "{name}: {found:?}");
        run.exits(1);
        let back = project.run(&["diff", "--output-format", "json", "after", "before"]);
        let found = changes(&back);
        let is_repaired = found.iter().any(|change| change.starts_with("improvement"));
        assert!(is_repaired || name == "no settings", "{name}: {found:?}");
        back.exits(0);
    }
}

/// A part that only meshprobe does not know is not a fault.
#[test]
fn parts_that_are_not_known_are_no_regression() {
    let prod = "prod/kustomization.yaml";
    let remote = "resources:\n- ../base\n- https://git.example/base?ref=v1\n";
    let run = trees(&BASE, &with(prod, &[(prod, remote)])).run(&JSON);
    assert_eq!(changes(&run), ["changed kustomization-not-modelled"]);
    run.exits(0);
}

/// A new fault is not paired with an old note about the same kustomization.
#[test]
fn a_fault_next_to_an_unknown_part_is_new() {
    let prod = "prod/kustomization.yaml";
    let remote = "resources:\n- ../base\n- https://git.example/base?ref=v1\n";
    let typo = "resources:\n- ../base\nresource:\n- https://git.example/base?ref=v1\n";
    let before = with(prod, &[(prod, remote)]);
    let run = trees(&before, &with(prod, &[(prod, typo)])).run(&JSON);
    let found = changes(&run);
    let regression = "regression kustomization-not-modelled".to_owned();
    assert!(found.contains(&regression), "{found:?}");
    run.exits(1);
}
