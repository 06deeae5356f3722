//! `rewrite --undo`: the way back, and where there is none.

use crate::support::manifest::{INJECTED, Manifest, STRICT_MESH};
use crate::support::predictions;
use crate::support::project::Project;

const WEB: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    metadata:
      labels: {app: web} # kept
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        livenessProbe:
          httpGet:
            path: /healthz # the old one
            port: 8080
            scheme: HTTPS
          periodSeconds: 5
        readinessProbe:
          tcpSocket: {port: 8080}
          timeoutSeconds: 2
        startupProbe:
          grpc:
            port: 9090
            service: app
        lifecycle:
          preStop:
            httpGet: {path: /bye, port: 8080}
      - name: plain
        livenessProbe: {exec: {command: ["true"]}}
"#;

fn project(web: &str) -> Project {
    Project::with(&[("ns.yaml", INJECTED), ("web.yaml", web)])
}

fn rewritten(web: &str) -> Project {
    let project = project(web);
    let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
    run.exits(0).complains("Rewrote 1 pod template in 1 file");
    assert_ne!(project.read("web.yaml"), web);
    project
}

/// A guard refuses, says its name, and the file stays as it is.
fn refused(text: &str, guard: &str) {
    let project = project(text);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(1);
    let id = format!("error[{guard}]");
    assert!(run.stderr.contains(&id), "{}", run.stderr);
    assert_eq!(project.read("web.yaml"), text);
    project.run(&["rule", guard]).exits(0);
}

#[test]
fn all_handlers_come_back_to_the_byte() {
    let project = rewritten(WEB);
    // Nothing of the mesh is asked for: the env says it all.
    std::fs::remove_file(project.path("ns.yaml")).unwrap();
    project
        .run(&["rewrite", "--undo", "--write", "."])
        .exits(0)
        .complains("Undid the rewrite of 1 pod template in 1 file; each such workload rolls");
    assert_eq!(project.read("web.yaml"), WEB);
    let run = project.run(&["rewrite", "--undo", "--diff", "."]).exits(0);
    run.complains("Nothing to undo.");
}

#[test]
fn undo_goes_to_every_output() {
    let project = rewritten(WEB);
    let text = project.read("web.yaml");
    let diff = project.run(&["rewrite", "--undo", "--diff", "."]).exits(1);
    assert!(
        diff.stdout
            .contains("+            path: /healthz # the old one\n"),
        "{}",
        diff.stdout
    );
    let piped = project.pipe(&["rewrite", "--undo", "-"], &text).exits(0);
    assert_eq!(piped.stdout, WEB);
    project
        .run(&["rewrite", "--undo", "-o", "out", "."])
        .exits(0);
    assert_eq!(project.read("out/web.yaml"), WEB);
    assert_eq!(project.read("web.yaml"), text);
}

#[test]
fn what_is_not_to_the_letter_is_said() {
    let named = WEB
        .replace(
            "image: registry.example/web:1",
            "ports: [{name: http, containerPort: 8080}]",
        )
        .replace(
            "path: /healthz # the old one\n            port: 8080",
            "port: http",
        );
    let project = rewritten(&named);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    let run = run.complains("note[undo-not-literal]");
    let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("names port 8080, which may have been written `http`"),
        "{said}"
    );
    assert!(
        said.contains("names the path `/`, which may have been left out"),
        "{said}"
    );
    assert!(project.read("web.yaml").contains("port: 8080"));
    project.run(&["rule", "undo-not-literal"]).exits(0);
}

/// A rewritten pod: with the partial container of a rewrite, or with a container that has more fields.
fn with_container(annotations: &str, container: &str) -> String {
    let env = r#"'{"/app-health/web/livez":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}'"#;
    let container = container.replace("ENV", env);
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n{annotations}spec:\n  containers:\n  - name: web\n    \
         livenessProbe: {{httpGet: {{path: /app-health/web/livez, port: 15020}}}}\n{container}"
    )
}

fn undone(text: &str) -> String {
    let project = project(text);
    project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    project.read("web.yaml")
}

#[test]
fn a_partial_container_is_removed_whole_and_other_containers_lose_the_variable_only() {
    let opt_out = "  annotations:\n    sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n";
    let partial = "  - name: istio-proxy\n    image: auto\n    env:\n    - name: ISTIO_KUBE_APP_PROBERS\n      value: ENV\n";
    let bare = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: web\n    \
                livenessProbe: {httpGet: {path: /healthz, port: 8080}}\n";
    assert_eq!(undone(&with_container(opt_out, partial)), bare);
    assert_eq!(undone(&with_container("", partial)), bare);

    let own = format!("{partial}    resources: {{limits: {{cpu: 1}}}}\n");
    let kept = "  - name: istio-proxy\n    image: auto\n    resources: {limits: {cpu: 1}}\n";
    assert_eq!(
        undone(&with_container(opt_out, &own)),
        format!("{bare}{kept}")
    );

    let injected = "  - name: istio-proxy\n    image: registry.example/proxyv2:1.28.0\n    env:\n    \
                    - {name: A, value: b}\n    - name: ISTIO_KUBE_APP_PROBERS\n      value: ENV\n    - {name: C, value: d}\n";
    let kept = "  - name: istio-proxy\n    image: registry.example/proxyv2:1.28.0\n    env:\n    \
                - {name: A, value: b}\n    - {name: C, value: d}\n";
    let status = "  annotations: {sidecar.istio.io/status: '{}'}\n";
    let after = undone(&with_container(status, injected));
    assert!(after.ends_with(kept), "{after}");
    assert!(after.contains(status), "{after}");
}

#[test]
fn a_proxy_config_of_the_users_keeps_the_rest() {
    let config = "      annotations:\n        proxy.istio.io/config: |\n          concurrency: 2 # cores\n          \
                  proxyMetadata:\n            A: b\n";
    let labels = "      labels: {app: web} # kept\n";
    let web = WEB.replace(labels, &format!("{labels}{config}"));
    let project = rewritten(&web);
    project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    assert_eq!(project.read("web.yaml"), web);
}

#[test]
fn an_env_that_does_not_say_all_is_refused() {
    let partial = "  - name: istio-proxy\n    image: auto\n    env:\n    - name: ISTIO_KUBE_APP_PROBERS\n      value: ENV\n";
    let whole = with_container("", partial);
    refused(&with_container("", ""), "rewritten-without-entry");
    refused(
        &whole.replace("web/livez\":", "web/readyz\":"),
        "rewritten-without-entry",
    );
    refused(
        &whole.replace("value: '{", "value: '{{"),
        "prober-env-invalid",
    );
    refused(
        &whole.replace("\"port\":8080", "\"port\":\"http\""),
        "undo-entry-unreadable",
    );
    let twice = format!("{whole}    - name: ISTIO_KUBE_APP_PROBERS\n      value: '{{}}'\n");
    refused(&twice, "prober-env-conflict");
    let host = whole.replace("port: 15020", "host: example.com, port: 15020");
    refused(&host, "undo-differs");
    let header = "\"port\":8080,\"httpHeaders\":[{\"name\":\"A\",\"value\":\"b\"}]";
    refused(&whole.replace("\"port\":8080", header), "undo-differs");
    let two = whole.replace(
        "livez, port: 15020}",
        "livez, port: 15020}, tcpSocket: {port: 1}",
    );
    refused(&two, "two-handlers");
    let sops = format!("{whole}sops: {{mac: x, version: 3.8.1, lastmodified: x}}\n");
    refused(&sops, "sops");
}

#[test]
fn pods_of_others_are_left_alone() {
    let opt_out = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}\n\
                   spec:\n  containers:\n  - name: web\n    livenessProbe: {httpGet: {path: /app-health/x, port: 80}}\n";
    let project = project(opt_out);
    project
        .run(&["rewrite", "--undo", "--write", "."])
        .exits(0)
        .complains("Nothing to undo.");
    assert_eq!(project.read("web.yaml"), opt_out);
}

#[test]
fn bases_and_patches_that_others_change_are_refused() {
    let project = rewritten(WEB);
    let base = project.read("web.yaml");
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n    spec:\n      \
                 containers:\n      - name: web\n        livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15021}}\n";
    project.write("base/kustomization.yaml", "resources: [web.yaml]\n");
    project.write("base/web.yaml", &base);
    project.write("over/kustomization.yaml", "resources: [../base]\n");
    project
        .run(&["rewrite", "--undo", "--diff", "base", "over"])
        .exits(1)
        .complains("Would undo");
    project.write("over/patch.yaml", patch);
    project.write(
        "over/kustomization.yaml",
        "resources: [../base]\npatches: [{path: patch.yaml}]\n",
    );
    let run = project
        .run(&["rewrite", "--undo", "--write", "base", "over"])
        .exits(1);
    let run = run
        .complains("error[kustomize-overlay]")
        .complains("error[kustomize-patch]");
    run.complains("Nothing to undo.");
    assert_eq!(project.read("base/web.yaml"), base);
    assert_eq!(project.read("over/patch.yaml"), patch);
}

fn said(run: &crate::support::Run) -> String {
    run.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_pod_that_asked_for_the_rewrite_asks_for_it_again() {
    let asks = "      annotations:\n        sidecar.istio.io/rewriteAppHTTPProbers: \"true\"\n";
    let labels = "      labels: {app: web} # kept\n";
    let web = WEB.replace(labels, &format!("{labels}{asks}"));
    let project = project(&web);
    let off = "values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}";
    let operator = Manifest::operator("istio", off).to_string();
    project.write("mesh.yaml", &operator);
    project.write("strict.yaml", STRICT_MESH);
    let outcomes = || {
        let run = project.run(&[
            "predict",
            "--mesh-version",
            "1.28",
            "--output-format",
            "json",
            ".",
        ]);
        predictions::outcomes(&run.exits(0))
    };
    let before = outcomes();
    assert!(!before.contains(&"fails".to_owned()), "{before:?}");
    let run = project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0);
    assert!(
        said(&run).contains("note[opt-in-replaced]"),
        "{}",
        run.stderr
    );
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    let told = said(&run);
    assert!(told.contains("note[undo-not-literal]"), "{told}");
    assert!(
        told.contains("becomes \"true\": the mesh rewrites no probes by default"),
        "{told}"
    );
    assert_eq!(project.read("web.yaml"), web);
    assert_eq!(outcomes(), before);
    // Where the tree says nothing of the mesh the note says what may be lost.
    std::fs::remove_file(project.path("mesh.yaml")).unwrap();
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    assert!(
        said(&run).contains("is dropped, which may have been \"true\""),
        "{}",
        run.stderr
    );
    // Where it says that the mesh rewrites there is nothing to lose.
    project.write("mesh.yaml", operator.replace("false", "true"));
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    assert!(!said(&run).contains("\"true\""), "{}", run.stderr);
}

#[test]
fn a_proxy_config_of_one_line_comes_back() {
    let labels = "      labels: {app: web} # kept\n";
    for (config, back, note) in [
        (
            "'concurrency: 2'",
            "'concurrency: 2'",
            "goes back to one line",
        ),
        ("\"{}\"", "'{}'", "is left as `{}`"),
    ] {
        let with = |value: &str| {
            let annotation =
                format!("      annotations:\n        proxy.istio.io/config: {value}\n");
            WEB.replace(labels, &format!("{labels}{annotation}"))
        };
        let project = rewritten(&with(config));
        let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert!(said(&run).contains(note), "{}", run.stderr);
        let after = project.read("web.yaml");
        let text = |value: &str| value.trim_matches(['\'', '"']).to_owned();
        let value = after
            .lines()
            .find_map(|line| line.trim().strip_prefix("proxy.istio.io/config: "));
        assert_eq!(value.map(text), Some(text(back)), "{after}");
    }
}

#[test]
fn a_file_without_final_line_break_stays_one() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  containers:\n  - name: web\n    \
               livenessProbe: {httpGet: {path: /healthz, port: 8080}}";
    for form in ["annotation", "container", "container-only"] {
        let project = project(pod);
        project
            .run(&["rewrite", "--write", "--form", form, "."])
            .exits(0);
        assert_ne!(project.read("web.yaml"), pod);
        project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert_eq!(project.read("web.yaml"), pod, "{form}");
    }
}
