//! Fixes of the rules about the APIs that PeerAuthentication replaced.

use crate::support::project::Project;

/// A release before 1.22 does not serve version `v1` of the API.
#[test]
fn fixes_write_an_api_version_that_the_release_serves() {
    const POLICY: &str = "apiVersion: authentication.istio.io/v1alpha1\nkind: MeshPolicy\nmetadata: {name: default}\n\
                          spec:\n  peers: [{mtls: {}}]\n";
    for (release, version) in [("1.21", "v1beta1"), ("1.22", "v1"), ("1.28", "v1")] {
        let project = Project::with(&[("policy.yaml", POLICY)]);
        let option = format!("--mesh-version={release}");
        project.run(&["check", "--fix", "--unsafe-fixes", &option]);
        let line = format!("apiVersion: security.istio.io/{version}\nkind: PeerAuthentication");
        assert!(project.read("policy.yaml").contains(&line), "{release}");
    }
}

/// The help names the PeerAuthentication that would open the port again; the fix only removes the annotation.
#[test]
fn the_fix_of_an_ignored_annotation_removes_it() {
    const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    \
                           auth.istio.io/8001: NONE\nspec: {selector: {app: web}, ports: [{port: 8001}]}\n";
    let project = Project::with(&[("service.yaml", SERVICE)]);
    let arguments = [
        "check",
        "--fix",
        "--mesh-version=1.28",
        "--override=mtls=STRICT",
    ];
    project
        .run(&arguments)
        .exits(0)
        .stdout_contains("Fixed 1 finding");
    let expected = SERVICE.replace("  annotations:\n    auth.istio.io/8001: NONE\n", "");
    assert_eq!(project.read("service.yaml"), expected);
}
