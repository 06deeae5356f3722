//! OpenShift Service Mesh 2: members, the annotation of pods, and mutual TLS of the control plane.

use crate::support::project::Project;

const PLANE: &str = "
apiVersion: maistra.io/v2
kind: ServiceMeshControlPlane
metadata: {name: basic, namespace: mesh}
spec:
  version: v2.6
  security: {dataPlane: {mtls: true}}
";
const ROLL: &str = "
apiVersion: maistra.io/v1
kind: ServiceMeshMemberRoll
metadata: {name: default, namespace: mesh}
spec: {members: [shop, 'team-*']}
";
const MEMBER: &str = "
apiVersion: maistra.io/v1
kind: ServiceMeshMember
metadata: {name: default, namespace: shop}
spec: {controlPlaneRef: {name: basic, namespace: mesh}}
";
const NAMESPACE: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: shop}
";
const POD: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations: {sidecar.istio.io/inject: 'true', sidecar.istio.io/rewriteAppHTTPProbers: 'false'}
spec:
  containers: [{name: web, image: web:1, readinessProbe: {httpGet: {path: /healthz, port: 8080}}}]
";

/// Returns dataplane, outcome and certainty of the probe.
fn judged(documents: &[&str]) -> String {
    let project = Project::new();
    project.write("all.yaml", documents.join("---"));
    let run = project.run(&["predict", "--output-format", "json", "all.yaml"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |at: &str| {
        report
            .pointer(at)
            .and_then(|value| value.as_str())
            .unwrap_or("-")
            .to_owned()
    };
    let [dataplane, outcome, certainty] = [
        "/workloads/0/dataplane/value",
        "/workloads/0/handlers/0/outcome",
        "/workloads/0/handlers/0/certainty",
    ]
    .map(text);
    format!("{dataplane} {outcome} {certainty}")
}

#[test]
fn pods_of_members_with_the_annotation_are_injected() {
    for members in [ROLL, MEMBER] {
        let documents = [PLANE, members, NAMESPACE, POD];
        assert_eq!(judged(&documents), "sidecar fails known", "{members}");
        // The operator sets the label of a member, so its Namespace need not be in the tree.
        assert_eq!(
            judged(&[PLANE, members, POD]),
            "sidecar fails known",
            "{members}"
        );
    }
    let team = |text: &str| text.replace("shop", "team-a");
    assert_eq!(
        judged(&[PLANE, ROLL, &team(NAMESPACE), &team(POD)]),
        "sidecar fails known"
    );
}

#[test]
fn pods_without_the_annotation_and_of_other_namespaces_are_not_injected() {
    let without = POD.replace("sidecar.istio.io/inject: 'true', ", "");
    let outside = "none not-in-mesh known";
    assert_eq!(judged(&[PLANE, ROLL, NAMESPACE, &without]), outside);
    assert_eq!(judged(&[PLANE, ROLL, &without]), outside);
    let other = ROLL.replace("shop", "billing");
    assert_eq!(judged(&[PLANE, &other, NAMESPACE, POD]), outside);
    let of_other_plane = ROLL.replace("namespace: mesh", "namespace: mesh-2");
    assert_eq!(judged(&[PLANE, &of_other_plane, NAMESPACE, POD]), outside);
}

#[test]
fn the_control_plane_sets_the_mode_of_mutual_tls() {
    let permissive = PLANE.replace("mtls: true", "mtls: false");
    assert_eq!(
        judged(&[&permissive, ROLL, NAMESPACE, POD]),
        "sidecar ok known"
    );
    let policy = "
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: PERMISSIVE}}
";
    assert_eq!(
        judged(&[PLANE, ROLL, NAMESPACE, POD, policy]),
        "sidecar ok known"
    );
    let unset = policy.replace("PERMISSIVE", "UNSET");
    assert_eq!(
        judged(&[PLANE, ROLL, NAMESPACE, POD, &unset]),
        "sidecar fails known"
    );
}

#[test]
fn members_imply_a_control_plane_outside_of_the_tree() {
    let judged = judged(&[MEMBER, NAMESPACE, POD]);
    assert!(judged.starts_with("sidecar ok "), "{judged}");
}
