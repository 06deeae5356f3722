//! Namespaces of several environments, for workloads that belong to none of these.

use crate::support::findings;
use crate::support::manifest::{INJECTED, Manifest, NOT_REWRITTEN, STRICT_MESH};
use crate::support::project::Project;

/// Returns a tree with a Namespace in each of two clusters, and a workload in a folder.
fn project(folder: &str, labels: [&str; 2]) -> Project {
    let web = format!("{folder}/web.yaml");
    let project = Project::with(&[(&*web, NOT_REWRITTEN), ("mtls.yaml", STRICT_MESH)]);
    for (cluster, labels) in ["blue", "green"].into_iter().zip(labels) {
        let namespace = Manifest::namespace("shop").labels(labels);
        project.write(
            &format!("clusters/{cluster}/ns.yaml"),
            namespace.to_string(),
        );
    }
    project
}

fn explained(project: &Project) -> String {
    let run = project.run(&["predict", "--explain"]).exits(0);
    run.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

const ON: &str = "istio-injection: enabled";
const OFF: &str = "istio-injection: disabled";

#[test]
fn namespaces_that_differ_are_an_assumption_that_names_their_environments() {
    for (labels, values) in [
        ([ON, OFF], "blue: sidecar, green: none"),
        ([OFF, ON], "green: sidecar, blue: none"),
        (["team: a", ON], "green: sidecar, blue: none"),
    ] {
        let project = project("apps", labels);
        let assumption = format!(
            "Namespace `shop` differs between environments ({values}) [--override injection=all|none]"
        );
        let run = project.run(&["check", "--fail-on=never", "--output-format=json"]);
        let found = findings(&run.exits(0));
        let found = found
            .iter()
            .find(|found| found["rule"] == "strict-probe-not-rewritten");
        let found = found.unwrap();
        assert_eq!(found["certainty"], "assumed", "{found:#}");
        assert_eq!(found["severity"], "warning", "{found:#}");
        let assumptions = found["assumptions"].as_array().unwrap();
        assert!(
            assumptions.contains(&assumption.as_str().into()),
            "{found:#}"
        );
        let explained = explained(&project);
        assert!(
            explained.contains("dataplane sidecar (assumed)"),
            "{explained}"
        );
    }
}

#[test]
fn namespaces_that_agree_are_known() {
    let known = |labels, dataplane: &str| {
        let explained = explained(&project("apps", labels));
        let expected = format!("dataplane {dataplane} (known)");
        assert!(explained.contains(&expected), "{explained}");
        assert!(!explained.contains("differs"), "{explained}");
    };
    known([ON, "istio-injection: enabled, team: a"], "sidecar");
    // Labels with the same effect agree, too.
    known([OFF, "team: a"], "none");
}

/// The folder of the workload, or an option, decides between environments.
#[test]
fn the_environment_of_a_workload_has_its_own_namespace() {
    for (folder, dataplane) in [
        ("apps/blue", "sidecar (known)"),
        ("apps/green", "none (known)"),
    ] {
        let explained = explained(&project(folder, [ON, OFF]));
        let expected = format!("dataplane {dataplane}");
        assert!(explained.contains(&expected), "{folder}: {explained}");
    }
    let project = project("apps", [ON, OFF]);
    for (cluster, dataplane) in [("blue", "sidecar (known)"), ("green", "none (known)")] {
        let run = project.run(&["predict", "--explain", "--cluster", cluster]);
        let text = run.exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(&format!("dataplane {dataplane}")),
            "{cluster}: {text}"
        );
    }
}

/// Two manifests of one cluster are not two environments.
#[test]
fn namespaces_of_one_environment_are_not_compared() {
    let project = project("clusters/blue/apps", [ON, OFF]);
    project.write("clusters/blue/more/ns.yaml", INJECTED);
    let explained = explained(&project);
    assert!(
        explained.contains("dataplane sidecar (known)"),
        "{explained}"
    );
}

/// The Namespaces of other meshes are compared in the same way.
#[test]
fn the_annotations_of_other_meshes_are_compared() {
    let project = Project::with(&[("apps/web.yaml", NOT_REWRITTEN)]);
    for (cluster, value) in [("blue", "disabled"), ("green", "enabled")] {
        let annotation = format!("linkerd.io/inject: {value}");
        let namespace = Manifest::namespace("shop").annotations(&annotation);
        project.write(
            &format!("clusters/{cluster}/ns.yaml"),
            namespace.to_string(),
        );
    }
    let run = project
        .run(&["predict", "--explain", "--mesh", "linkerd"])
        .exits(0);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("dataplane sidecar (assumed)"), "{text}");
    assert!(text.contains("(blue: none, green: sidecar)"), "{text}");
}

/// Findings about a Namespace name the clusters that deploy it.
#[test]
fn findings_about_namespaces_name_their_environments() {
    let namespace =
        Manifest::namespace("shop").labels("istio-injection: enabled, istio.io/rev: canary");
    let project = Project::with(&[("base/ns.yaml", &namespace.to_string())]);
    for cluster in ["blue", "green"] {
        let application = Manifest::new("argoproj.io/v1alpha1", "Application", "base")
            .within("argocd")
            .spec("{source: {path: base}}");
        project.write(
            &format!("clusters/{cluster}/app.yaml"),
            application.to_string(),
        );
    }
    let names = |path: &str| {
        let run = project.run(&["check", "--fail-on=never", "--output-format=concise", path]);
        run.exits(0)
            .stdout_contains("[namespace-two-injection-labels]")
            .stdout
    };
    assert!(names(".").contains("(in: blue, green)"), "{}", names("."));
    let of_blue = names("clusters/blue");
    assert!(of_blue.contains("(in: blue)"), "{of_blue}");
}
