//! Pods that `rewrite` must not change, and what it must keep of the pods that it changes.

use crate::support::manifest::{INJECTED, STRICT, join};
use crate::support::project::Project;

fn project(annotations: &str, rest: &str) -> Project {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n{annotations}\
         spec:\n  containers:\n  - name: web\n    livenessProbe: {{httpGet: {{path: /, port: 8080}}}}\n{rest}"
    );
    Project::with(&[("pod.yaml", &join(&[INJECTED, STRICT, &pod]))])
}

/// Checks that the guard prevents the rewrite, is named, and that the file is unchanged.
fn assert_refused(project: &Project, guard: &str) {
    let before = project.read("pod.yaml");
    let run = project.run(&["rewrite", "--write", "pod.yaml"]).exits(1);
    assert!(
        run.stderr.contains(&format!("error[{guard}]")),
        "{}",
        run.stderr
    );
    assert_eq!(project.read("pod.yaml"), before);
}

#[test]
fn a_proxy_config_that_is_not_a_string_is_not_changed() {
    let mapping = "    proxy.istio.io/config: {concurrency: 2}\n";
    assert_refused(&project(mapping, ""), "proxy-config-invalid");
    let block = "    proxy.istio.io/config:\n      concurrency: 2\n";
    assert_refused(&project(block, ""), "proxy-config-invalid");
    assert_refused(
        &project("    proxy.istio.io/config: '['\n", ""),
        "proxy-config-invalid",
    );
}

/// The pod would never start, with or without the rewrite.
#[test]
fn a_pod_that_the_injector_refuses_is_not_changed() {
    let metrics = "    prometheus.io/port: metrics\n";
    let ports = "    traffic.sidecar.istio.io/excludeInboundPorts: http\n";
    for annotation in [metrics, ports] {
        let project = project(annotation, "");
        assert_refused(&project, "admission-refused");
        project
            .run(&["predict", "--mesh-version", "1.31", "pod.yaml"])
            .exits(0)
            .stdout_contains("the webhook refuses the pod");
    }
    let project = project(metrics, "");
    let options = ["rewrite", "--mesh-version", "1.30.3", "pod.yaml"];
    project.run(&options).exits(0);
}

#[test]
fn comments_inside_the_proxy_config_are_kept() {
    let comment = "    proxy.istio.io/config: |\n      # keep this\n";
    let project = project(comment, "");
    let write = ["rewrite", "--write", "--form", "annotation", "pod.yaml"];
    project.run(&write).exits(0);
    let after = project.read("pod.yaml");
    assert!(
        after.contains("# keep this\n      proxyMetadata:\n"),
        "{after}"
    );
    project.run(&["rewrite", "--diff", "pod.yaml"]).exits(0);
}

#[test]
fn a_placeholder_in_the_rewrite_annotation_is_not_changed() {
    let switch = "    sidecar.istio.io/rewriteAppHTTPProbers: ${REWRITE}\n";
    assert_refused(&project(switch, ""), "placeholder");
    let inject = "    sidecar.istio.io/inject: ${INJECT}\n";
    assert_refused(&project(inject, ""), "injection-unproven");
}

#[test]
fn hooks_that_the_opt_out_would_break_require_the_release() {
    let hook = "    lifecycle: {preStop: {httpGet: {path: /stop, port: 8080}}}\n";
    let pod = project("    team: shop\n", hook);
    assert_refused(&pod, "hooks-need-release");
    let release = ["rewrite", "--write", "--mesh-version", "1.28", "pod.yaml"];
    pod.run(&release).exits(0);
    assert!(pod.read("pod.yaml").contains("/app-lifecycle/web/prestopz"));
    // A hook that works without a change is allowed.
    let exec = "    lifecycle: {preStop: {exec: {command: [sleep, '5']}}}\n";
    project("    team: shop\n", exec)
        .run(&["rewrite", "--write", "pod.yaml"])
        .exits(0);
}

#[test]
fn a_partial_sidecar_among_the_init_containers_is_not_changed() {
    for image in ["auto", "example.test/proxyv2:1"] {
        let init = format!("  initContainers:\n  - name: istio-proxy\n    image: {image}\n");
        assert_refused(
            &project("    team: shop\n", &init),
            "proxy-in-init-containers",
        );
    }
}

#[test]
fn an_env_from_a_config_map_cannot_be_read() {
    let env = "  - name: istio-proxy\n    image: auto\n    env:\n    - name: ISTIO_KUBE_APP_PROBERS\n      \
               valueFrom: {configMapKeyRef: {name: a, key: b}}\n";
    let pod = project("    team: shop\n", env);
    assert_refused(&pod, "prober-env-invalid");
    pod.run(&["rewrite", "--diff", "pod.yaml"]).exits(1);
}

#[test]
fn the_opt_out_of_a_pre_rewritten_pod_is_never_removed_by_a_fix() {
    let pod = project("    team: shop\n", "");
    pod.run(&["rewrite", "--write", "pod.yaml"]).exits(0);
    let rewritten = pod.read("pod.yaml");
    let with_probe = rewritten.replace(
        "    livenessProbe:",
        "    readinessProbe: {httpGet: {path: /r, port: 8080}}\n    livenessProbe:",
    );
    pod.write("pod.yaml", &with_probe);
    pod.run(&["check", "--fix", "--unsafe-fixes", "pod.yaml"])
        .exits(1);
    assert_eq!(pod.read("pod.yaml"), with_probe);
    // A second rewrite adds the new probe.
    pod.run(&["rewrite", "--write", "pod.yaml"]).exits(0);
    let after = pod.read("pod.yaml");
    assert!(after.contains("/app-health/web/readyz") && after.contains("/app-health/web/livez"));
    pod.run(&["check", "pod.yaml"]).exits(0);
}

#[test]
fn a_file_that_one_cluster_deploys_without_the_mesh_is_not_rewritten() {
    let flux = |namespace: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: web}}\n\
             spec: {{path: ./apps/web, targetNamespace: {namespace}}}\n---\n\
             apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}, labels: {{istio-injection: MODE}}}}\n"
        )
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    \
               livenessProbe: {httpGet: {path: /, port: 8080}}\n";
    for (mode, code) in [("disabled", 1), ("enabled", 0)] {
        let project = Project::with(&[
            ("apps/web/pod.yaml", pod),
            (
                "clusters/a/web.yaml",
                &flux("shop-a").replace("MODE", "enabled"),
            ),
            ("clusters/b/web.yaml", &flux("shop-b").replace("MODE", mode)),
        ]);
        project.run(&["rewrite", "--write", "."]).exits(code);
        let is_rewritten = project
            .read("apps/web/pod.yaml")
            .contains("/app-health/web/livez");
        assert_eq!(is_rewritten, code == 0, "{mode}");
    }
}

/// The injector makes the same rewrite, so a refusal would not help; a warning is reported.
#[test]
fn a_rewrite_that_breaks_a_probe_is_reported() {
    let rest = "  initContainers:\n  - name: db\n    restartPolicy: Always\n    startupProbe: \
                {httpGet: {path: /, port: 8081}}\n";
    let project = project("    a: b\n", rest);
    let warned = |arguments: &[&str]| {
        let run = project.run(arguments);
        assert!(
            run.stdout.contains("/app-health/db/startupz"),
            "{}",
            run.stdout
        );
        run.stderr
            .contains("warning[native-sidecar-startup-deadlock]")
    };
    assert!(warned(&[
        "rewrite",
        "--diff",
        "--mesh-version",
        "1.26",
        "pod.yaml"
    ]));
    let native = ["--override", "native-sidecars=true"];
    assert!(!warned(
        &[
            &["rewrite", "--diff", "--mesh-version", "1.26", "pod.yaml"][..],
            &native
        ]
        .concat()
    ));
}

/// The YAML parser of Kubernetes rejects a tab after a dash.
#[test]
fn a_document_that_only_some_parsers_accept_is_reported_and_not_changed() {
    let project = project("    a: b\n", "  volumes:\n  -\tname: x\n");
    let good = project
        .read("pod.yaml")
        .replace("  volumes:\n  -\tname: x\n", "");
    project.write(
        "good.yaml",
        good.replace("name: web\n  namespace", "name: api\n  namespace"),
    );
    let before = project.read("pod.yaml");
    let run = project.run(&["rewrite", "--write", "."]).exits(1);
    assert!(run.stderr.contains("error[edit-refused]"), "{}", run.stderr);
    assert!(run.stderr.contains("pod.yaml"), "{}", run.stderr);
    assert_eq!(project.read("pod.yaml"), before);
    assert!(project.read("good.yaml").contains("/app-health/web/livez"));
}

#[test]
fn an_env_that_prevents_the_agent_from_starting_is_not_extended() {
    let env = |entries: &str| {
        format!(
            "  - name: istio-proxy\n    image: auto\n    env:\n    - name: ISTIO_KUBE_APP_PROBERS\n      value: '{{{entries}}}'\n"
        )
    };
    let opt_out = "    sidecar.istio.io/rewriteAppHTTPProbers: 'false'\n";
    let fine = r#""/app-health/web/readyz":{"tcpSocket":{"port":1}}"#;
    project(opt_out, &env(fine))
        .run(&["rewrite", "--write", "pod.yaml"])
        .exits(0)
        .stderr_contains("1 of 1 workload rewritten.");
    for entry in [
        r#""/newpath":{"tcpSocket":{"port":1}}"#,
        r#""/app-health/web/readyz":{"httpGet":{"port":"http"}}"#,
        r#""/app-health/web/readyz":{}"#,
        r#""/app-health/web/readyz":null"#,
    ] {
        assert_refused(&project(opt_out, &env(entry)), "prober-env-invalid");
    }
    // Agents before 1.25 do not support hooks.
    let hook = r#""/app-lifecycle/web/prestopz":{"tcpSocket":{"port":1}}"#;
    let old = project(opt_out, &env(hook));
    let run = old.run(&["rewrite", "--mesh-version", "1.24", "--diff", "pod.yaml"]);
    run.exits(1).stderr_contains("error[prober-env-invalid]");
}

#[test]
fn pods_without_a_sidecar_are_not_rewritten_and_a_note_is_reported() {
    let grpc = project("    inject.istio.io/templates: grpc-agent\n", "");
    let before = grpc.read("pod.yaml");
    let run = grpc.run(&["rewrite", "--write", "pod.yaml"]).exits(0);
    run.stderr_contains("note[proxyless]");
    assert_eq!(grpc.read("pod.yaml"), before);

    // Up to 1.17.2, `grpc-simple` does not switch the rewrite off, and Istio rewrites pods with a sidecar of their own.
    let own = "  - {name: istio-proxy, image: auto}\n";
    let simple = project("    inject.istio.io/templates: grpc-simple\n", own);
    let before_own = simple.read("pod.yaml");
    for (release, code, id) in [
        ("1.16", 1, "error[proxyless-template]"),
        ("1.17.2", 1, "error[proxyless-template]"),
        ("1.17.3", 0, "note[proxyless]"),
        ("1.17", 0, "note[proxyless]"),
        ("1.18", 0, "note[proxyless]"),
    ] {
        let run = simple.run(&["rewrite", "--write", "--mesh-version", release, "pod.yaml"]);
        run.exits(code).stderr_contains(id);
        assert_eq!(simple.read("pod.yaml"), before_own);
    }

    let system = project("    team: shop\n", "");
    let moved = before
        .replace("shop", "kube-system")
        .replace("    inject.istio.io/templates: grpc-agent\n", "    a: b\n");
    system.write("pod.yaml", &moved);
    let run = system.run(&["rewrite", "--write", "pod.yaml"]).exits(0);
    run.stderr_contains("note[system-namespace]");
    assert_eq!(system.read("pod.yaml"), moved);
    for note in ["proxyless", "system-namespace", "opt-in-replaced"] {
        system.run(&["rule", note]).exits(0);
    }
}

#[test]
fn pods_that_the_api_server_rejects_are_not_rewritten() {
    for (wrong, guard, message) in [
        (
            "    readinessProbe: {httpGet: {port: 8080}, timeoutSeconds: -1}\n",
            "invalid-handler",
            "`timeoutSeconds: -1` is negative",
        ),
        (
            "    startupProbe: {tcpSocket: {port: 8080}, successThreshold: 2}\n",
            "invalid-handler",
            "`successThreshold: 2` is not 1",
        ),
        (
            "    readinessProbe: {tcpSocket: {port: 8080}, terminationGracePeriodSeconds: 5}\n",
            "invalid-handler",
            "`terminationGracePeriodSeconds` is not allowed on a readiness probe",
        ),
        (
            "    readinessProbe: {httpGet: {path: /x}}\n",
            "port-range",
            "it does not name a port",
        ),
        (
            "    ports: [{name: a_b, containerPort: 8080}]\n    readinessProbe: {httpGet: {port: a_b}}\n",
            "invalid-handler",
            "port name `a_b` contains other characters",
        ),
        (
            "    ports: [{name: a, containerPort: 8080}, {name: a, containerPort: 8081}]\n    \
             readinessProbe: {httpGet: {port: a}}\n",
            "invalid-handler",
            "the container declares port `a` more than once",
        ),
    ] {
        let pod = project("    team: shop\n", wrong);
        assert_refused(&pod, guard);
        let run = pod.run(&["rewrite", "--diff", "pod.yaml"]);
        let text = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(message), "{text}");
        assert!(!text.contains("0 is not a port"), "{text}");
    }
    let fine =
        "    readinessProbe: {httpGet: {port: 8080}, timeoutSeconds: 0, successThreshold: 2}\n";
    project("    team: shop\n", fine)
        .run(&["rewrite", "--write", "pod.yaml"])
        .exits(0);
    let check = project(
        "    team: shop\n",
        "    readinessProbe: {httpGet: {port: 8080}, periodSeconds: -5}\n",
    );
    let run = check
        .run(&["check", "--output-format", "concise", "pod.yaml"])
        .exits(1);
    run.stdout_contains("probe-field-invalid")
        .stdout_contains("`periodSeconds: -5` is negative");
}

#[test]
fn a_proxy_config_that_is_not_a_mapping_is_refused_in_every_form() {
    for config in ["'[1, 2]'", "text", "'- a'"] {
        let pod = project(&format!("    proxy.istio.io/config: {config}\n"), "");
        let before = pod.read("pod.yaml");
        for form in ["annotation", "container", "container-only"] {
            let run = pod.run(&["rewrite", "--write", "--form", form, "pod.yaml"]);
            run.exits(1).stderr_contains("error[proxy-config-invalid]");
            assert_eq!(pod.read("pod.yaml"), before, "{form} {config}");
        }
    }
    let null = project("    proxy.istio.io/config: '~'\n", "");
    null.run(&["rewrite", "--write", "--form", "container", "pod.yaml"])
        .exits(0);
}
