//! What fixes do not change: labels that a selector uses, pods that work, and decisions of the user.

use crate::support::Run;
use crate::support::project::Project;

const MESH: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: pay, labels: {istio-injection: enabled}}
---
";
const STRICT: &str = "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: all, namespace: pay}
spec: {mtls: {mode: STRICT}}
---
";
const OFF: &str = "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"";
const TCP: &str = "livenessProbe: {tcpSocket: {port: 9191}}";

/// A Deployment: labels of its pods and its selector, an annotation, lines of its container.
fn deployment(labels: &str, selector: &str, annotation: &str, container: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: ledger, namespace: pay}}\nspec:\n  \
         selector: {{matchLabels: {{{selector}}}}}\n  template:\n    metadata:\n      labels: {{{labels}}}\n      \
         annotations:\n        {annotation}\n    spec:\n      containers:\n        - name: app\n          \
         image: ledger:1\n          {container}\n"
    )
}

fn run(text: &str, arguments: &[&str]) -> (String, Run) {
    let project = Project::with(&[("m.yaml", text)]);
    let all = [
        &["check", "--isolated", "--output-format", "full"],
        arguments,
    ]
    .concat();
    let run = project.run(&all);
    (project.read("m.yaml"), run)
}

/// Checks that `--fix` does not change the text; returns the run.
fn assert_unchanged(text: &str) -> Run {
    let (after, run) = run(text, &["--fix"]);
    assert_eq!(after, text, "{}", run.stdout);
    run
}

#[test]
fn a_label_that_a_selector_uses_is_kept() {
    let inject = "sidecar.istio.io/inject: \"true\"";
    let labels = format!("app: ledger, {inject}");
    let host = |selector: &str| {
        let text = deployment(&labels, selector, "a: b", TCP);
        format!(
            "{MESH}{}",
            text.replace("    spec:\n", "    spec:\n      hostNetwork: true\n")
        )
    };
    assert_unchanged(&host(&labels))
        .stdout_contains("by hand, because a selector in this")
        .stdout_contains(
            "help: remove the label `sidecar.istio.io/inject` from the selectors first",
        );
    let service = format!(
        "---\napiVersion: v1\nkind: Service\nmetadata: {{name: ledger, namespace: pay}}\nspec:\n  selector: {{{inject}}}\n"
    );
    assert_unchanged(&format!("{}{service}", host("app: ledger")));
    let (after, _) = run(&host("app: ledger"), &["--fix"]);
    assert!(!after.contains("inject:"), "{after}");

    let system = MESH.replace("pay", "kube-system");
    let pod = deployment(&labels, &labels, "a: b", TCP)
        .replace("namespace: pay", "namespace: kube-system");
    assert_unchanged(&format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: kube-system}}\n---\n{pod}"
    ));
    let policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: np, namespace: x}\nspec:\n  podSelector: {}\n  ingress:\n    - from:\n        - namespaceSelector:\n            matchExpressions: [{key: istio-injection, operator: Exists}]\n";
    assert_unchanged(&format!("{system}{policy}"));
    let (after, _) = run(&system, &["--fix"]);
    assert!(!after.contains("istio-injection"), "{after}");

    let misplaced = deployment(
        &format!("app: ledger, {OFF}"),
        &format!("app: ledger, {OFF}"),
        "a: b",
        TCP,
    );
    let text = format!("{MESH}{misplaced}");
    let (after, _) = run(&text, &["--fix", "--unsafe-fixes"]);
    assert_eq!(after, text);
}

#[test]
fn the_message_names_all_removed_annotations_and_labels() {
    let text = deployment(
        "app: ledger, sidecar.istio.io/inject: \"true\"",
        "app: ledger",
        "sidecar.istio.io/proxyCPU: 100m",
        TCP,
    )
    .replace("    spec:\n", "    spec:\n      hostNetwork: true\n");
    let (after, _) = run(&format!("{MESH}{text}"), &["--fix"]);
    assert!(!after.contains("sidecar.istio.io"), "{after}");
    let (_, run_without_fix) = run(&format!("{MESH}{text}"), &[]);
    run_without_fix.stdout_contains(
        "`sidecar.istio.io/proxyCPU` and `sidecar.istio.io/inject` have no effect",
    );
}

#[test]
fn a_fix_that_would_break_a_working_pod_is_not_applied() {
    let policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: np, namespace: pay}\nspec:\n  podSelector: {}\n  ingress:\n    - from: [{ipBlock: {cidr: 10.0.0.0/8}}]\n      ports: [{port: 9191}]\n---\n";
    let pod = deployment("app: ledger", "app: ledger", OFF, TCP);
    assert_unchanged(&format!("{MESH}{policy}{pod}"))
        .stdout_contains("netpol-ipblock-misses-status-port");
    let bound = format!("command: [app, '--bind=127.0.0.1:9191']\n          {TCP}");
    let pod = deployment("app: ledger", "app: ledger", OFF, &bound);
    assert_unchanged(&format!("{MESH}{pod}")).stdout_contains("localhost-destination-changed");
    let open = pod.replace("127.0.0.1", "");
    let (after, _) = run(&format!("{MESH}{open}"), &["--fix"]);
    assert!(!after.contains(OFF) && after.contains("--bind"), "{after}");
}

/// Two containers; a comment or annotation suppresses the finding about the second.
fn two(above: &str, annotation: &str) -> String {
    let first = format!(
        "{TCP}\n        - name: other\n          image: other:1\n{above}          livenessProbe: {{tcpSocket: {{port: 2}}}}"
    );
    let annotation = format!("{OFF}{annotation}");
    format!(
        "{MESH}{}",
        deployment("app: ledger", "app: ledger", &annotation, &first)
    )
}

#[test]
fn a_setting_with_a_suppressed_finding_is_not_fixed() {
    let comment = two(
        "          # meshprobe: ignore[tcp-probe-always-passes] ok\n",
        "",
    );
    assert_unchanged(&comment).stdout_contains("a suppressed finding is about the same setting");
    assert_unchanged(&two(
        "",
        "\n        meshprobe.dev/ignore: \"tcp-probe-always-passes@other: ok\"",
    ));
    // With `--unsafe-fixes` the annotation is removed, and the comment of the user is kept.
    let (after, _) = run(&comment, &["--fix", "--unsafe-fixes"]);
    assert!(
        !after.contains(OFF) && after.contains("# meshprobe: ignore["),
        "{after}"
    );
    // An unused suppression is removed as before.
    let idle = comment.replace("tcp-probe-always-passes] ok", "tcp-probe-host-dropped] ok");
    let (after, _) = run(&idle, &["--fix"]);
    assert!(!after.contains("# meshprobe"), "{after}");
}

#[test]
fn a_fix_never_writes_the_opposite_of_the_setting() {
    let http = "livenessProbe: {httpGet: {path: /, port: 9191}}";
    let word = OFF.replace("false", "no");
    let bad = format!(
        "{MESH}{STRICT}{}",
        deployment("app: ledger", "app: ledger", &word, http)
    );
    let slip = bad.replace(&word, "sidecar.istio.io/rewriteAppHttpProbers: \"false\"");
    let misplaced = bad.replace(&word, "a: b").replace(
        "namespace: pay}\nspec:\n  selector",
        &format!("namespace: pay, annotations: {{{OFF}}}}}\nspec:\n  selector"),
    );
    for text in [&bad, &slip, &misplaced] {
        let (after, checked) = run(text, &["--fix", "--unsafe-fixes"]);
        assert_eq!(&after, text, "{}", checked.stdout);
        checked.stdout_contains("decide which setting is intended");
        // A probe that works with the change is fixed.
        let bears = text.replace(STRICT, "");
        let (after, _) = run(&bears, &["--fix", "--unsafe-fixes"]);
        assert!(after != bears && after.contains(OFF), "{after}");
    }
}
