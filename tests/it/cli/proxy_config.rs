//! `proxy.istio.io/config` and the mesh configuration are protobuf in JSON: both spellings of a field
//! count, and numbers may be in quotes.

use crate::support::Run;
use crate::support::project::Project;

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
";

/// A Deployment with the given text in the annotation.
fn web(config: &str) -> String {
    let config = config.replace('\n', "\n          ");
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata:
      labels: {{app: web}}
      annotations:
        proxy.istio.io/config: |
          {config}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        ports: [{{containerPort: 8080}}]
        readinessProbe: {{httpGet: {{path: /ready, port: 8080}}}}
"
    )
}

fn project(config: &str) -> Project {
    Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &web(config))])
}

fn rewrite(project: &Project) -> Run {
    project.run(&["rewrite", "--write", "--mesh-version", "1.31", "."])
}

/// Returns the outcome of the only handler.
fn outcome(project: &Project) -> String {
    let arguments = [
        "predict",
        "--mesh-version",
        "1.31",
        "--output-format",
        "json",
        ".",
    ];
    let report = project.run(&arguments).exits(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let outcome = &report["workloads"][0]["handlers"][0]["outcome"];
    outcome.as_str().unwrap().to_owned()
}

/// Returns the parsed value of the annotation.
fn annotation(project: &Project) -> serde_json::Value {
    let text = project.read("web.yaml");
    let object: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let annotations = object
        .pointer("/spec/template/metadata/annotations")
        .unwrap();
    let text = annotations["proxy.istio.io/config"].as_str().unwrap();
    serde_yaml::from_str(text).unwrap()
}

#[test]
fn the_env_is_added_to_the_field_in_its_existing_spelling() {
    for (config, key) in [
        ("proxy_metadata:\n  OWN: kept", "proxy_metadata"),
        ("proxy_metadata: {OWN: kept}", "proxy_metadata"),
        ("proxyMetadata: {OWN: kept}", "proxyMetadata"),
        // Istio uses the JSON name if both are set.
        (
            "proxy_metadata: {LOST: x}\nproxyMetadata: {OWN: kept}",
            "proxyMetadata",
        ),
    ] {
        let project = project(config);
        rewrite(&project)
            .exits(0)
            .stderr_contains("1 of 1 workload rewritten.");
        let after = annotation(&project);
        let metadata = after[key].as_object().unwrap();
        assert_eq!(metadata["OWN"], "kept", "{config}");
        assert!(metadata.contains_key("ISTIO_KUBE_APP_PROBERS"), "{config}");
        let keys = after.as_object().unwrap().len();
        assert_eq!(
            keys,
            config.matches(['{', '\n']).count().clamp(1, 2),
            "{config}"
        );
        assert_eq!(outcome(&project), "ok", "{config}");
        rewrite(&project).exits(0).stderr_contains("Nothing to");
        project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert_eq!(project.read("web.yaml"), web(config), "{config}");
    }
}

#[test]
fn an_empty_field_is_set_in_its_existing_spelling() {
    for config in ["proxy_metadata:", "proxy_metadata: null"] {
        let project = project(config);
        rewrite(&project).exits(0);
        let after = annotation(&project);
        let metadata = &after["proxy_metadata"];
        assert!(metadata["ISTIO_KUBE_APP_PROBERS"].is_string(), "{after}");
        assert!(after.get("proxyMetadata").is_none(), "{after}");
    }
}

#[test]
fn a_changed_status_port_is_detected_in_every_spelling() {
    for config in [
        "statusPort: 15099",
        "status_port: 15099",
        "statusPort: '15099'",
        "status_port: ' 15099 '",
        "statusPort: 15099.0",
        "status_port: 15020\nstatusPort: 15099",
    ] {
        let project = project(config);
        assert_eq!(outcome(&project), "fails", "{config}");
        let run = rewrite(&project).exits(1);
        run.stderr_contains("error[status-port-mismatch]");
        assert_eq!(project.read("web.yaml"), web(config));
    }
    for config in [
        "status_port: 15099\nstatusPort: 15020",
        "status_port: 15099\nstatusPort:",
        "StatusPort: 15099",
        "statusPort: '15020'",
    ] {
        assert_eq!(outcome(&project(config)), "ok", "{config}");
    }
}

#[test]
fn the_interception_mode_is_read_as_a_name_and_as_a_number() {
    let strict = "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
";
    let off = "sidecar.istio.io/rewriteAppHTTPProbers: 'false'\n        proxy";
    for (config, expected) in [
        ("interceptionMode: NONE", "ok"),
        ("interception_mode: NONE", "ok"),
        ("interceptionMode: 2", "ok"),
        ("interception_mode: 1", "fails"),
        ("interceptionMode: TPROXY", "fails"),
    ] {
        let project = project(config);
        project.write("strict.yaml", strict);
        project.write("web.yaml", web(config).replacen("proxy", off, 1));
        assert_eq!(outcome(&project), expected, "{config}");
    }
}

#[test]
fn values_that_the_injector_rejects_are_reported_and_not_extended() {
    for (config, field) in [
        ("proxyMetadata: {X: true}", "`proxyMetadata.X` must be"),
        ("proxy_metadata: {X: 1}", "`proxy_metadata.X` must be"),
        ("proxyMetadata: []", "`proxyMetadata` must be"),
        ("concurrency: one", "`concurrency` must be"),
        (
            "holdApplicationUntilProxyStarts: 'true'",
            "must be a boolean",
        ),
        (
            "interceptionMode: tproxy",
            "must be a name that Istio knows",
        ),
        ("tracing: []", "`tracing` must be a mapping"),
        ("drainDuration: 5", "must be a duration such as `5s`"),
        ("drainDuration: '5'", "must be a duration such as `5s`"),
        ("image: distroless", "`image` must be a mapping"),
        ("extraStatTags: [a, 1]", "`extraStatTags[1]` must be"),
        (
            "statusPort: '0x3afb'",
            "`statusPort` must be a whole number",
        ),
    ] {
        let project = project(config);
        for form in ["annotation", "container", "container-only"] {
            let run = project.run(&["rewrite", "--write", "--form", form, "."]);
            let run = run.exits(1).stderr_contains("error[proxy-config-invalid]");
            let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(message.contains(field), "{message}");
            assert_eq!(project.read("web.yaml"), web(config), "{form}");
        }
        let run = project.run(&["check", "--mesh-version", "1.31", "."]);
        run.exits(1)
            .stdout_contains("error[invalid-traffic-annotation]");
        assert_eq!(outcome(&project), "refused", "{config}");
    }
    for config in [
        "unknown: {a: 1}",
        "concurrency: '2'",
        "concurrency: null",
        "proxyMetadata: {X: null}",
        "statusPort: ${PORT}",
        "tracing: {}",
        "tracing: {sampling: '1.5', unknown: [1]}",
        "drainDuration: ${DRAIN}",
    ] {
        let run = project(config).run(&["check", "."]);
        assert!(!run.stdout.contains("invalid-traffic"), "{}", run.stdout);
    }
}

#[test]
fn the_mesh_configuration_is_read_by_the_same_rules() {
    let map = |config: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: istio, namespace: istio-system}}\ndata:\n  mesh: |\n    defaultConfig:\n      {config}\n"
        )
    };
    for (config, expected) in [
        ("status_port: 15099", "fails"),
        ("statusPort: '15099'", "fails"),
        ("status_port: '15099'", "fails"),
        ("status_port: 15099\n      statusPort: 15020", "ok"),
    ] {
        // The status port of the chart does not change, so the traffic capture excludes only that port.
        let project = project("{}");
        let strict = "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: default, namespace: shop}\nspec: {mtls: {mode: STRICT}}\n";
        project.write("strict.yaml", strict);
        project.write("istio.yaml", map(config));
        assert_eq!(outcome(&project), expected, "{config}");
    }
}

/// libyaml reads nested brackets in quadratic time, so it does not receive them.
#[test]
fn deeply_nested_texts_are_refused_before_the_second_parser_reads_them() {
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(4_000), close.repeat(4_000));
    for text in [
        nested("{a: ", "}"),
        nested("[", "]"),
        nested("[{'}': ", "}]"),
        format!("a: [b: *c, \"\n{}", nested("{a: ", "}")),
        format!("# \u{2028}a: {}", nested("{a: ", "}")),
        "[".repeat(129),
    ] {
        let started = std::time::Instant::now();
        let run = project(&text)
            .run(&["check", "--output-format", "json", "."])
            .exits(1);
        let took = started.elapsed();
        run.stdout_contains("its text is not YAML: ");
        assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    }
    // Brackets side by side do not count.
    let wide = format!("proxyMetadata: {{A: '{}'}}\n", "[] ".repeat(3_000));
    assert_eq!(outcome(&project(&wide)), "ok");
}
