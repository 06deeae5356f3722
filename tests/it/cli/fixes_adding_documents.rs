//! Fixes that add a document.

use crate::support::project::Project;

const POD: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  containers:
    - name: web
      image: registry.example/web:1
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations:
    auth.istio.io/8001: NONE
spec:
  selector: {app: web}
  ports: [{name: http-health, port: 8001, targetPort: 9001}]";

const ADDED: &str = "\
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: web-port-9001
  namespace: shop
spec:
  selector:
    matchLabels:
      app: web
  portLevelMtls:
    9001:
      mode: DISABLE
";

fn fixed(service: &str) -> String {
    let project = Project::with(&[("pod.yaml", POD), ("service.yaml", service)]);
    project
        .run(&[
            "check",
            "--fix",
            "--unsafe-fixes",
            "--override",
            "mtls=STRICT",
        ])
        .exits(0)
        .stdout_contains("Fixed 1 finding");
    project.read("service.yaml")
}

/// The service without its annotation.
fn bare() -> String {
    SERVICE.replace("  annotations:\n    auth.istio.io/8001: NONE\n", "")
}

#[test]
fn a_document_is_added_after_the_last_one() {
    assert_eq!(fixed(SERVICE), format!("{}\n{ADDED}", bare()));
}

#[test]
fn a_document_is_added_between_others() {
    let second = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n";
    let all = format!("{SERVICE}\n{second}");
    assert_eq!(fixed(&all), format!("{}\n{ADDED}{second}", bare()));
}

#[test]
fn an_added_document_uses_the_line_breaks_of_the_file() {
    let windows = |text: &str| text.replace('\n', "\r\n");
    let all = windows(&format!("{SERVICE}\n"));
    assert_eq!(fixed(&all), windows(&format!("{}\n{ADDED}", bare())));
}

/// A release before 1.22 does not serve version `v1` of the API.
#[test]
fn fixes_write_an_api_version_that_the_release_serves() {
    const POLICY: &str = "apiVersion: authentication.istio.io/v1alpha1\nkind: MeshPolicy\nmetadata: {name: default}\n\
                          spec:\n  peers: [{mtls: {}}]\n";
    for (release, version) in [("1.21", "v1beta1"), ("1.22", "v1"), ("1.28", "v1")] {
        let files = [
            ("pod.yaml", POD),
            ("service.yaml", SERVICE),
            ("policy.yaml", POLICY),
        ];
        let project = Project::with(&files);
        let option = format!("--mesh-version={release}");
        let arguments = ["check", "--fix", "--unsafe-fixes", "--override=mtls=STRICT"];
        project.run(&[&arguments[..], &[&option]].concat());
        for file in ["service.yaml", "policy.yaml"] {
            let line = format!("apiVersion: security.istio.io/{version}\nkind: PeerAuthentication");
            assert!(project.read(file).contains(&line), "{file} {release}");
        }
    }
}
