//! A finding that reports one place for the whole tree chooses one in the given paths.

use crate::support::manifest::{Manifest, PROBED};
use crate::support::project::Project;

/// Checks that each of two folders with the same files has the finding, and that the whole tree has one.
#[track_caller]
fn assert_in_each(rule: &str, text: &str) {
    let project = Project::with(&[("a/all.yaml", text), ("b/all.yaml", text)]);
    for paths in [&["a"][..], &["b"], &["a", "b"]] {
        let arguments = ["check", "--fail-on=never", "--output-format=concise"];
        let output = project
            .run(&[&arguments[..], paths].concat())
            .exits(0)
            .stdout;
        let places: Vec<&str> = output.lines().filter(|line| line.contains(rule)).collect();
        assert!(
            places.len() == 1 && places[0].starts_with(paths[0]),
            "{paths:?}: {output}"
        );
    }
}

#[test]
fn the_place_is_in_the_given_paths() {
    let monitored = Manifest::namespace("shop").labels("openservicemesh.io/monitored-by: osm");
    assert_in_each("osm-archived", &monitored.to_string());
    let app_mesh =
        Manifest::namespace("shop").labels("appmesh.k8s.aws/sidecarInjectorWebhook: enabled");
    assert_in_each("appmesh-ended", &app_mesh.to_string());
    let policy = Manifest::peer_authentication("shop", "STRICT").to_string();
    let project = Project::with(&[
        ("a/pod.yaml", PROBED),
        ("b/pod.yaml", &PROBED.replace("name: web", "name: other")),
        ("mesh.yaml", &policy),
    ]);
    for path in ["a", "b"] {
        let output = project.run(&["check", "--fail-on=never", "--output-format=concise", path]);
        assert!(
            output.stdout.contains("namespace-unknown"),
            "{path}: {}",
            output.stdout
        );
    }
}
