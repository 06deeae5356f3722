//! The configuration file of each state.

use super::revisions::{commit, repository, run};
use super::{cause, changes};
use crate::support::manifest::{NOT_REWRITTEN, PROBED, STRICT};
use crate::support::project::Project;

fn config(entries: &str) -> String {
    format!(
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: m}}\nspec:\n  {entries}\n"
    )
}

/// A repository whose gRPC probe is rewritten since Istio 1.13.
fn grpc() -> Project {
    let project = repository();
    let grpc = PROBED.replace("httpGet: {path: /, port: 8080}", "grpc: {port: 8080}");
    project.write("apps/web.yaml", grpc);
    project.write("apps/mtls.yaml", STRICT);
    project.write(".meshprobe.yaml", config("mesh: {version: '1.13'}"));
    commit(&project, "with a release");
    project
}

#[test]
fn each_revision_has_the_facts_of_its_own_configuration() {
    let project = grpc();
    project.write(".meshprobe.yaml", config("mesh: {version: '1.12'}"));
    let expected = ["regression web livenessProbe: ok -> fails"];
    let with_tree = run(&project, &["--since", "HEAD"], 1);
    assert_eq!(changes(&with_tree), expected);
    assert_eq!(
        cause(&with_tree, 0),
        "the changed configuration `.meshprobe.yaml`"
    );
    commit(&project, "an older release");
    project.write(".meshprobe.yaml", config("mesh: {version: '1.31'}"));
    let revisions = ["--since", "HEAD~1", "--until", "HEAD"];
    assert_eq!(changes(&run(&project, &revisions, 1)), expected);
    let text = project
        .run(&[&["diff"], &revisions[..]].concat())
        .exits(1)
        .stdout;
    let sentence = "regression: the changed configuration `.meshprobe.yaml` breaks 1 probe\n";
    assert!(text.starts_with(sentence), "{text}");
}

#[test]
fn a_named_configuration_applies_to_both_states() {
    let project = grpc();
    project.write("other.yaml", config("mesh: {version: '1.12'}"));
    let options = ["--since", "HEAD", "--config", "other.yaml"];
    assert_eq!(changes(&run(&project, &options, 0)), [""; 0]);
}

#[test]
fn rules_are_those_of_the_second_state() {
    let project = repository();
    project.write(
        ".meshprobe.yaml",
        config("rules: {namespace-unknown: error}"),
    );
    commit(&project, "a level");
    project.write(
        ".meshprobe.yaml",
        config("rules: {namespace-unknown: ignore}"),
    );
    assert_eq!(changes(&run(&project, &["--since", "HEAD"], 0)), [""; 0]);
}

#[test]
fn an_invalid_configuration_of_the_first_state_can_be_repaired() {
    let project = grpc();
    project.write(".meshprobe.yaml", config("mesh: {versoin: '1.13'}"));
    commit(&project, "a typo");
    project.write(".meshprobe.yaml", config("mesh: {version: '1.13'}"));
    let repaired = run(&project, &["--since", "HEAD"], 0);
    assert_eq!(changes(&repaired), [""; 0]);
    assert!(
        repaired
            .stderr
            .contains("is not used, but that of the second state"),
        "{}",
        repaired.stderr
    );
    run(&project, &["--since", "HEAD~1", "--until", "HEAD"], 2);
}

#[test]
fn each_revision_has_the_context_of_its_own_configuration() {
    let project = repository();
    project.write("platform/mtls.yaml", STRICT);
    project.write(".meshprobe.yaml", config("failOn: error"));
    commit(&project, "without a context");
    project.write(
        ".meshprobe.yaml",
        config("failOn: error\n  context: [platform]"),
    );
    commit(&project, "with a context");
    let revisions = |since, until| ["--no-context", "--since", since, "--until", until, "apps"];
    let found = run(&project, &revisions("HEAD~1", "HEAD"), 1);
    let expected = ["regression web readinessProbe: ok -> fails"];
    assert_eq!(changes(&found), expected);
    let configuration = "the changed configuration `.meshprobe.yaml`";
    assert_eq!(cause(&found, 0), configuration);
    let found = run(&project, &revisions("HEAD", "HEAD~1"), 0);
    let expected = ["improvement web readinessProbe: fails -> ok"];
    assert_eq!(changes(&found), expected);
    assert_eq!(cause(&found, 0), configuration);
}

/// Git does not list a file that it does not track as changed.
#[test]
fn a_new_file_is_its_own_cause_next_to_a_changed_configuration() {
    let project = repository();
    project.write("platform/mtls.yaml", STRICT);
    project.write(".meshprobe.yaml", config("mesh: {version: '1.30'}"));
    commit(&project, "a release");
    project.write(".meshprobe.yaml", config("mesh: {version: '1.31'}"));
    let api = NOT_REWRITTEN.replace("name: web", "name: api");
    project.write("apps/api.yaml", api);
    let found = run(&project, &["--since", "HEAD"], 1);
    assert_eq!(changes(&found), ["added api readinessProbe: none -> fails"]);
    let own = "apps/api.yaml:10 the probe `http :8080/` is new";
    assert_eq!(cause(&found, 0), own);
}

/// An override that only the second state has does not hide what the second state breaks.
#[test]
fn a_new_override_does_not_hide_a_regression() {
    for spec in [
        "scopes: [{paths: ['**'], override: {rewrite: true}}]",
        "scopes: [{paths: [apps/*], override: {mtls: DISABLE}}]",
        "mesh: {kind: none}",
    ] {
        let project = repository();
        let rewritten = NOT_REWRITTEN.replace("'false'", "'true'");
        project.write("apps/mtls.yaml", STRICT);
        project.write("apps/web.yaml", &rewritten);
        commit(&project, "it works");
        project.write("apps/web.yaml", NOT_REWRITTEN);
        project.write(".meshprobe.yaml", config(spec));
        let broken = run(&project, &["--since", "HEAD"], 1);
        let expected = ["regression web readinessProbe: ok -> fails"];
        assert_eq!(changes(&broken), expected, "{spec}");
        let text = cause(&broken, 0);
        let hidden = "hidden by an override in the changed configuration `.meshprobe.yaml`";
        assert!(text.ends_with(hidden), "{text}");
        assert!(text.starts_with("apps/web.yaml:"), "{text}");
        // The first state may have it, too, and a fault that is older is an improvement.
        project.write("apps/web.yaml", &rewritten);
        commit(&project, "with the override");
        project.write("apps/web.yaml", NOT_REWRITTEN);
        let classes = changes(&run(&project, &["--since", "HEAD"], 0));
        assert!(
            !classes
                .iter()
                .any(|change| change.starts_with("regression")),
            "{classes:?}"
        );
    }
}
