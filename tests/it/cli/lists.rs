//! Objects with the field `items`, which kubectl expands for every kind.

use crate::support::Run;
use crate::support::manifest::OPT_OUT;
use crate::support::project::Project;

const SCOPE: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";
const STRICT: &str = "metadata: {name: default, namespace: shop}\nspec: {mtls: {mode: STRICT}}\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\n";
const POLICY: &str = "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\n";

/// A Deployment without `apiVersion` and `kind` whose probe fails under strict mutual TLS.
fn body(annotation: &str) -> String {
    let head = "metadata: {name: web, namespace: shop}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata:\n      labels: {app: web}\n";
    let tail = "    spec:\n      containers:\n      - name: web\n        image: nginx\n        ports: [{containerPort: 8080}]\n        readinessProbe:\n          httpGet: {path: /ready, port: 8080}\n";
    format!("{head}      annotations: {{{annotation}}}\n{tail}")
}

fn list(head: &str, item: &str) -> String {
    let item = item.trim_end().replace('\n', "\n  ");
    format!("{head}items:\n- {item}\n")
}

/// Lists that kubectl expands to one Deployment.
fn lists(annotation: &str) -> Vec<String> {
    let bare = body(annotation);
    let whole = format!("{DEPLOYMENT}{bare}");
    let empty = format!("apiVersion: null\nkind: ''\n{bare}");
    vec![
        list("apiVersion: apps/v1\nkind: DeploymentList\n", &bare),
        list("apiVersion: apps/v1\nkind: DeploymentList\n", &empty),
        list("apiVersion: apps/v1\nkind: Deployment\n", &bare),
        list("kind: List\n", &whole),
        list("kind: PodList\n", &whole),
        list("apiVersion: v1\nkind: list\n", &whole),
        list(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
            &whole,
        ),
    ]
}

fn project(workload: &str, policy: &str) -> Project {
    Project::with(&[
        ("ns.yaml", SCOPE),
        ("policy.yaml", policy),
        ("web.yaml", workload),
    ])
}

fn check(project: &Project) -> Run {
    project.run(&["check", "--output-format", "concise", "."])
}

#[test]
fn lists_of_any_kind_are_checked() {
    let policy = format!("{POLICY}{STRICT}");
    for text in lists(OPT_OUT) {
        let project = project(&text, &policy);
        let run = check(&project).exits(1);
        assert!(
            run.stdout.contains("strict-probe-not-rewritten"),
            "{text}{}",
            run.stdout
        );
    }
}

#[test]
fn items_of_a_policy_list_need_no_kind() {
    let head = "apiVersion: security.istio.io/v1\nkind: PeerAuthenticationList\n";
    let project = project(
        &format!("{DEPLOYMENT}{}", body(OPT_OUT)),
        &list(head, STRICT),
    );
    check(&project)
        .exits(1)
        .stdout_contains("error[strict-probe-not-rewritten]");
}

#[test]
fn lists_that_kubectl_rejects_are_not_expanded() {
    let policy = format!("{POLICY}{STRICT}");
    let bare = body(OPT_OUT);
    for text in [
        // An item inherits the type of the list, which has none.
        list("apiVersion: v1\nkind: List\n", &bare),
        list("kind: DeploymentList\n", &bare),
        list(
            "apiVersion: apps/v1\nkind: DeploymentList\n",
            &format!("kind: Deployment\n{bare}"),
        ),
        // Files of other tools.
        "kind: menu\nitems: [{name: a}, {name: b}]\n".to_owned(),
        "kind: menu\nitems: [a, b]\n".to_owned(),
    ] {
        let project = project(&text, &policy);
        let run = check(&project);
        assert!(
            run.code == 0 && !run.stdout.contains("error["),
            "{text}{}",
            run.stdout
        );
    }
    // `items` that are not objects do not hide the object.
    let text = format!("{DEPLOYMENT}{bare}items: [a]\n");
    check(&project(&text, &policy))
        .exits(1)
        .stdout_contains("error[strict-probe-not-rewritten]");
}

#[test]
fn lists_of_any_kind_are_rewritten_and_restored() {
    let policy = format!("{POLICY}{STRICT}");
    for text in lists("a: b") {
        let project = project(&text, &policy);
        let rewrite = ["rewrite", "--write", "--mesh-version", "1.28", "."];
        project.run(&rewrite).exits(0);
        let rewritten = project.read("web.yaml");
        assert!(
            rewritten.contains("ISTIO_KUBE_APP_PROBERS"),
            "{text}{rewritten}"
        );
        project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert_eq!(project.read("web.yaml"), text);
    }
}

#[test]
fn lists_of_any_kind_are_expanded_in_a_kustomization() {
    let policy = format!("{POLICY}{STRICT}");
    for text in lists(OPT_OUT) {
        let project = project(&text, &policy);
        project.write(
            "kustomization.yaml",
            "resources: [ns.yaml, policy.yaml, web.yaml]\n",
        );
        let run = check(&project).exits(1);
        assert!(
            run.stdout.contains("strict-probe-not-rewritten")
                && run.stdout.contains("(1 workload, 1 handler"),
            "{text}{}",
            run.stdout
        );
    }
}

#[test]
fn the_function_expands_lists_of_any_kind() {
    for text in lists(OPT_OUT) {
        let items = [SCOPE, &format!("{POLICY}{STRICT}"), &text].map(|item| {
            let item = item.trim_end().replace('\n', "\n  ");
            format!("- {item}\n")
        });
        let head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  metadata: {name: config}\nitems:\n";
        let run = Project::new().pipe(&["krm"], format!("{head}{}", items.concat()));
        assert!(
            run.stdout.contains("strict-probe-not-rewritten"),
            "{text}{}{}",
            run.stdout,
            run.stderr
        );
    }
}
