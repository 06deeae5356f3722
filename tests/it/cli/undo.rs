//! `rewrite --undo`: restores the originals, or explains why it cannot.

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
    run.exits(0)
        .stderr_contains("1 of 1 workload rewritten. Changed 1 file");
    assert_ne!(project.read("web.yaml"), web);
    project
}

/// Checks that the guard prevents the undo, is named, and that the file is unchanged.
fn assert_refused(text: &str, guard: &str) {
    let project = project(text);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(1);
    let id = format!("error[{guard}]");
    assert!(run.stderr.contains(&id), "{}", run.stderr);
    assert_eq!(project.read("web.yaml"), text);
    project.run(&["rule", guard]).exits(0);
}

#[test]
fn undo_restores_every_byte_of_all_handlers() {
    let project = rewritten(WEB);
    // The mesh is not needed: the prober env contains everything.
    std::fs::remove_file(project.path("ns.yaml")).unwrap();
    project
        .run(&["rewrite", "--undo", "--write", "."])
        .exits(0)
        .stderr_contains(
            "1 of 1 workload restored. Changed 1 file; applying the changes triggers rollouts.",
        );
    assert_eq!(project.read("web.yaml"), WEB);
    let run = project.run(&["rewrite", "--undo", "--diff", "."]).exits(0);
    run.stderr_contains("Nothing to undo (1 workload).");
}

#[test]
fn undo_supports_every_output() {
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
}

#[test]
fn inexact_restorations_are_reported() {
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
    let run = run.stderr_contains("note[undo-not-literal]");
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        message.contains("gets port `http`, which may have been 8080"),
        "{message}"
    );
    assert!(
        message.contains("gets the path `/`, which may have been absent"),
        "{message}"
    );
    assert!(project.read("web.yaml").contains("port: http"));
    project.run(&["rule", "undo-not-literal"]).exits(0);
}

/// A rewritten pod with the partial container of a rewrite, or with a container that has more fields.
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
fn undo_removes_a_partial_container_and_only_the_variable_of_other_containers() {
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
fn undo_keeps_the_other_fields_of_the_proxy_config() {
    let config = "      annotations:\n        proxy.istio.io/config: |\n          concurrency: 2 # cores\n          \
                  proxyMetadata:\n            A: b\n";
    let labels = "      labels: {app: web} # kept\n";
    let web = WEB.replace(labels, &format!("{labels}{config}"));
    let project = rewritten(&web);
    project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    assert_eq!(project.read("web.yaml"), web);
}

#[test]
fn an_incomplete_prober_env_is_refused() {
    let partial = "  - name: istio-proxy\n    image: auto\n    env:\n    - name: ISTIO_KUBE_APP_PROBERS\n      value: ENV\n";
    let whole = with_container("", partial);
    assert_refused(&with_container("", ""), "rewritten-without-entry");
    assert_refused(
        &whole.replace("web/livez\":", "web/readyz\":"),
        "rewritten-without-entry",
    );
    assert_refused(
        &whole.replace("value: '{", "value: '{{"),
        "prober-env-invalid",
    );
    assert_refused(
        &whole.replace("\"port\":8080", "\"port\":\"http\""),
        "undo-entry-unreadable",
    );
    let twice = format!("{whole}    - name: ISTIO_KUBE_APP_PROBERS\n      value: '{{}}'\n");
    assert_refused(&twice, "prober-env-conflict");
    let host = whole.replace("port: 15020", "host: example.com, port: 15020");
    assert_refused(&host, "undo-differs");
    let header = "\"port\":8080,\"httpHeaders\":[{\"name\":\"A\",\"value\":\"b\"}]";
    assert_refused(&whole.replace("\"port\":8080", header), "undo-differs");
    let two = whole.replace(
        "livez, port: 15020}",
        "livez, port: 15020}, tcpSocket: {port: 1}",
    );
    assert_refused(&two, "two-handlers");
    let sops = format!("{whole}sops: {{mac: x, version: 3.8.1, lastmodified: x}}\n");
    assert_refused(&sops, "sops");
}

#[test]
fn pods_that_meshprobe_did_not_rewrite_are_not_changed() {
    let opt_out = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}\n\
                   spec:\n  containers:\n  - name: web\n    livenessProbe: {httpGet: {path: /app-health/x, port: 80}}\n";
    let project = project(opt_out);
    project
        .run(&["rewrite", "--undo", "--write", "."])
        .exits(0)
        .stderr_contains("Nothing to undo (1 workload).");
    assert_eq!(project.read("web.yaml"), opt_out);
}

#[test]
fn bases_that_overlays_change_and_patches_are_refused() {
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
        .stderr_contains("would be restored");
    project.write("over/patch.yaml", patch);
    project.write(
        "over/kustomization.yaml",
        "resources: [../base]\npatches: [{path: patch.yaml}]\n",
    );
    let run = project
        .run(&["rewrite", "--undo", "--write", "base", "over"])
        .exits(1);
    let run = run
        .stderr_contains("error[kustomize-overlay]")
        .stderr_contains("error[kustomize-patch]");
    run.stderr_contains("0 of 2 workloads restored, 2 refused.");
    assert_eq!(project.read("base/web.yaml"), base);
    assert_eq!(project.read("over/patch.yaml"), patch);
}

fn unwrapped_stderr(run: &crate::support::Run) -> String {
    run.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn undo_restores_the_opt_in_of_a_pod() {
    let opt_in = "      annotations:\n        sidecar.istio.io/rewriteAppHTTPProbers: \"true\"\n";
    let labels = "      labels: {app: web} # kept\n";
    let web = WEB.replace(labels, &format!("{labels}{opt_in}"));
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
        unwrapped_stderr(&run).contains("note[opt-in-replaced]"),
        "{}",
        run.stderr
    );
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    let message = unwrapped_stderr(&run);
    assert!(message.contains("note[undo-not-literal]"), "{message}");
    assert!(
        message.contains("becomes \"true\": the mesh does not rewrite probes by default"),
        "{message}"
    );
    assert_eq!(project.read("web.yaml"), web);
    assert_eq!(outcomes(), before);
    // If the tree does not contain the mesh configuration, the note names the annotation that may be lost.
    std::fs::remove_file(project.path("mesh.yaml")).unwrap();
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    assert!(
        unwrapped_stderr(&run).contains("is removed; it may have been \"true\""),
        "{}",
        run.stderr
    );
    // If the mesh rewrites by default, no annotation can be lost.
    project.write("mesh.yaml", operator.replace("false", "true"));
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    assert!(
        !unwrapped_stderr(&run).contains("\"true\""),
        "{}",
        run.stderr
    );
}

#[test]
fn undo_restores_a_proxy_config_on_one_line() {
    let labels = "      labels: {app: web} # kept\n";
    for (config, restored, note) in [
        (
            "'concurrency: 2'",
            "'concurrency: 2'",
            "is written on one line again",
        ),
        ("\"{}\"", "'{}'", "is kept as `{}`"),
    ] {
        let with = |value: &str| {
            let annotation =
                format!("      annotations:\n        proxy.istio.io/config: {value}\n");
            WEB.replace(labels, &format!("{labels}{annotation}"))
        };
        let project = rewritten(&with(config));
        let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert!(unwrapped_stderr(&run).contains(note), "{}", run.stderr);
        let after = project.read("web.yaml");
        let text = |value: &str| value.trim_matches(['\'', '"']).to_owned();
        let value = after
            .lines()
            .find_map(|line| line.trim().strip_prefix("proxy.istio.io/config: "));
        assert_eq!(value.map(text), Some(text(restored)), "{after}");
    }
}

#[test]
fn undo_keeps_a_missing_final_line_break() {
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

/// The env records numbers. A name is written back if the container declares exactly one port with that number.
#[test]
fn a_port_name_is_restored_if_it_is_the_only_one() {
    let with_ports = |ports: &str, probe: &str| {
        WEB.replace("image: registry.example/web:1", ports)
            .replace("port: 8080", probe)
    };
    let http = "ports: [{name: http, containerPort: 8080}]";
    let two = "ports: [{name: http, containerPort: 8080}, {name: other, containerPort: 8080, protocol: UDP}]";
    let unnamed = "ports: [{containerPort: 8080}]";
    for (ports, before, after) in [
        (http, "port: http", "port: http"),
        (two, "port: http", "port: 8080"),
        (unnamed, "port: 8080", "port: 8080"),
    ] {
        let project = rewritten(&with_ports(ports, before));
        project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert_eq!(
            project.read("web.yaml"),
            with_ports(ports, after),
            "{ports}"
        );
    }
}
