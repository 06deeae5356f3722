//! Facts of `--from` and `--to` that no workload reads are reported, so that "No changes" is not mistaken for a result.

use super::{changes, report};
use crate::support::manifest::{INJECTED, PROBED, join};
use crate::support::project::Project;

const LINKERD: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {linkerd.io/inject: enabled}}\n";

#[test]
fn facts_that_the_mesh_of_an_option_does_not_read_are_rejected() {
    let project = Project::with(&[("all.yaml", &join(&[LINKERD, PROBED]))]);
    for (mesh, fact, title) in [
        ("linkerd", "mtls=STRICT", "Linkerd does not read `mtls`"),
        ("consul", "rewrite=false", "Consul does not read `rewrite`"),
        (
            "kuma",
            "status-port=15555",
            "Kuma does not read `status-port`",
        ),
        ("osm", "dataplane=ambient", "does not read `dataplane`"),
        (
            "none",
            "mtls=STRICT",
            "`--to mtls` has no effect without a mesh",
        ),
    ] {
        let run = project
            .run(&["diff", "--mesh", mesh, "--to", fact])
            .exits(2);
        assert!(run.stderr.contains(title), "{}", run.stderr);
        assert!(run.stderr.contains("`injection`"), "{}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    let run = project.run(&["diff", "--mesh", "linkerd", "--to", "injection=none"]);
    assert!(!run.stderr.contains("does not read"), "{}", run.stderr);
}

#[test]
fn facts_that_the_meshes_of_the_tree_do_not_read_have_a_note() {
    let project = Project::with(&[("all.yaml", &join(&[LINKERD, PROBED]))]);
    let json = ["diff", "--output-format", "json", "--to"];
    for (fact, note) in [
        (
            "mtls=STRICT",
            "the workloads belong to Linkerd, and only Istio reads it",
        ),
        (
            "dataplane=ambient",
            "the workloads belong to Linkerd, and only Istio reads it",
        ),
        (
            "mesh-version=1.18",
            "the workloads belong to Linkerd, and only Istio reads it",
        ),
    ] {
        let run = project.run(&[&json[..], &[fact]].concat()).exits(0);
        assert_eq!(changes(&run), [""; 0]);
        assert!(run.stderr.contains(note), "{fact}: {}", run.stderr);
        let notes = report(&run);
        let notes = notes.pointer("/notes/0").unwrap().as_str().unwrap();
        assert!(notes.contains(note), "{notes}");
    }
}

#[test]
fn workloads_that_are_not_in_the_mesh_read_nothing_about_it() {
    let outside = INJECTED.replace("enabled", "disabled");
    for (manifest, reason) in [
        (join(&[&outside, PROBED]), "no workload is in the mesh"),
        (
            PROBED.to_owned(),
            "nothing states that a workload is in the mesh",
        ),
    ] {
        let project = Project::with(&[("all.yaml", &*manifest)]);
        for fact in ["mtls=STRICT", "rewrite=false", "mesh-version=1.12"] {
            let run = project.run(&["diff", "--to", fact]).exits(0);
            let key = fact.split_once('=').unwrap().0;
            let note = format!("note: `{key}` of `--to` has no effect: {reason}");
            assert!(run.stderr.contains(&note), "{fact}: {}", run.stderr);
        }
    }
}

#[test]
fn facts_that_workloads_read_have_no_note() {
    let project = Project::with(&[("all.yaml", &join(&[INJECTED, PROBED]))]);
    for fact in [
        "mtls=STRICT",
        "rewrite=true",
        "status-port=15020",
        "dataplane=sidecar",
        "injection=all",
        "mesh-version=1.31",
    ] {
        let run = project.run(&["diff", "--to", fact]);
        assert!(
            !run.stderr.contains("has no effect"),
            "{fact}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_fact_for_selected_pods_is_read_by_them_only() {
    let bank = INJECTED
        .replace("name: shop", "name: bank")
        .replace("enabled", "disabled");
    let other = PROBED.replace("namespace: shop", "namespace: bank");
    let project = Project::with(&[("all.yaml", &join(&[INJECTED, PROBED, &bank, &other]))]);
    for (namespace, is_read) in [("shop", true), ("bank", false)] {
        let run = project.run(&[
            "diff",
            "--to",
            "mtls=STRICT",
            "--select-namespace",
            namespace,
        ]);
        assert_eq!(
            !run.stderr.contains("has no effect"),
            is_read,
            "{namespace}: {}",
            run.stderr
        );
    }
}
