//! Documents that kubectl, kustomize and other YAML parsers read differently.

use crate::support::manifest::INJECTED;
use crate::support::project::Project;

/// A pod whose container `web` has the given lines, indented by four spaces.
fn pod(container: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  containers:\n  \
         - name: web\n{container}"
    )
}

fn project(text: &str) -> Project {
    Project::with(&[("ns.yaml", INJECTED), ("web.yaml", text)])
}

/// Checks that `check` reports the location, that `rewrite` fails with the same id, and that no command
/// changes the file.
#[track_caller]
fn assert_ambiguous(text: &str, place: &str, message: &str) {
    let project = project(text);
    let run = project.run(&["check", "--output-format", "concise"]);
    assert!(
        run.stdout.contains(&format!("web.yaml:{place}: ")) && run.stdout.contains(message),
        "{}",
        run.stdout
    );
    let run = project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(1);
    assert!(
        run.stderr.contains("error[ambiguous-yaml]"),
        "{}",
        run.stderr
    );
    project.run(&["check", "--fix", "--unsafe-fixes"]);
    assert_eq!(project.read("web.yaml"), text);
    project.run(&["rule", "ambiguous-yaml"]).exits(0);
}

/// Checks that the guard prevents the rewrite with a message, and that the file is unchanged.
#[track_caller]
fn assert_refused(text: &str, guard: &str, message: &str) {
    let project = project(text);
    let run = project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(1);
    let stderr = unwrapped(&run.stderr);
    assert!(
        stderr.contains(&format!("error[{guard}]")) && stderr.contains(message),
        "{stderr}"
    );
    assert_eq!(project.read("web.yaml"), text);
}

/// Joins the lines of a text.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rewrites and undoes; returns both results.
#[track_caller]
fn rewritten_and_undone(text: &str) -> (String, String) {
    let project = project(text);
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0);
    let rewritten = project.read("web.yaml");
    assert_ne!(rewritten, text);
    project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    (rewritten, project.read("web.yaml"))
}

#[test]
fn a_merge_key_below_a_key_that_it_overrides_is_ambiguous() {
    let base = "x: &probe {path: /healthz, port: 8080, scheme: HTTPS}\n";
    let below = format!(
        "{base}{}",
        pod("    readinessProbe:\n      httpGet:\n        path: /ready\n        <<: *probe\n")
    );
    assert_ambiguous(&below, "12:9", "`/healthz`");
    let whole = format!(
        "x: &x {{httpGet: {{path: /healthz, port: 8080}}}}\n{}",
        pod("    livenessProbe:\n      httpGet: {path: /, port: 80}\n      <<: *x\n")
    );
    assert_ambiguous(&whole, "11:7", "`httpGet`");
    let above = below.replace(
        "        path: /ready\n        <<: *probe\n",
        "        <<: *probe\n        path: /ready\n",
    );
    let (rewritten, _) = rewritten_and_undone(&above);
    assert!(rewritten.contains(r#"\"path\":\"/ready\""#), "{rewritten}");
}

#[test]
fn a_manifest_with_escaped_keys_is_not_skipped() {
    let pod = pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n");
    let escaped = pod
        .replace("apiVersion", "\"\\x61piVersion\"")
        .replace("kind", "\"\\U0000006bind\"");
    let one_line = |text: &str| text.trim_end().replace('\n', "\u{2028}");
    for (path, text, rule) in [
        (
            "web.yaml",
            format!("{}\n", one_line(&escaped)),
            "syntax-error",
        ),
        (
            "web.yaml",
            format!("{} # {{{{\n", one_line(&pod)),
            "syntax-error",
        ),
    ] {
        let project = Project::with(&[("ns.yaml", INJECTED), (path, &text)]);
        project
            .run(&["check", "--output-format", "concise"])
            .exits(1)
            .stdout_contains(&format!("error[{rule}]"));
    }
    let project = Project::with(&[("ns.yaml", INJECTED), ("web.json", &escaped)]);
    project
        .run(&["check"])
        .exits(0)
        .stdout_contains("1 workload");
    // Templates and files of other tools are still not manifests for kubectl.
    let template = "{{- if .x }}\napiVersion: v1\nkind: Pod # \u{2028}\n{{- end }}\n";
    let project = Project::with(&[
        ("ns.yaml", INJECTED),
        ("a.yaml", template),
        ("b.json", r#"{"a": "\u00e4"}"#),
    ]);
    let run = project.run(&["check"]).exits(0);
    assert!(!run.stdout.contains("error"), "{}", run.stdout);
}

#[test]
fn merge_keys_beyond_the_limits_are_reported() {
    let chain = |levels: usize| {
        let mut text = "x0: &x0 {livenessProbe: {httpGet: {path: /, port: 80}}}\n".to_owned();
        for level in 1..=levels {
            let below = level - 1;
            text.push_str(&format!("x{level}: &x{level} {{<<: *x{below}}}\n"));
        }
        format!("{text}{}", pod(&format!("    <<: *x{levels}\n")))
    };
    let run = project(&chain(15)).run(&["check", "--output-format", "concise"]);
    run.exits(0).stdout_contains("1 workload");
    let refused = |text: &str, message: &str| {
        let run = project(text).run(&["check", "--output-format", "concise"]);
        run.exits(1)
            .stdout_contains("error[syntax-error]")
            .stdout_contains(message);
    };
    for levels in [16, 17, 300] {
        refused(&chain(levels), "more than 16 levels");
    }
    let mut wide = "x0: &x0 {a: b}\n".to_owned();
    for level in 1..8 {
        let below = vec![format!("*x{}", level - 1); 4].join(", ");
        wide.push_str(&format!("x{level}: &x{level} {{<<: [{below}]}}\n"));
    }
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    let wide = format!("{wide}{}", pod(&format!("{probe}    <<: *x7\n")));
    refused(&wide, "10,000 mappings");
    // A file of another tool is a note.
    let values = chain(17).replace("apiVersion: v1\nkind: Pod\n", "");
    project(&values)
        .run(&["check", "--output-format", "concise"])
        .exits(0)
        .stdout_contains("note[syntax-error]");
}

#[test]
fn escaped_letters_in_json_are_read() {
    let project = Project::new();
    let text = r#"{"\u0061piVersion":"v1","\u006bind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"a","livenessProbe":{"httpGet":{"port":0}}}]}}"#;
    project.write("pod.json", text);
    project.run(&["check"]).stdout_contains("1 workload");
}

/// A pod with the annotation `proxy.istio.io/config`, whose value is in double quotes.
fn pod_with_config(config: &str) -> String {
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    let annotation = format!("  annotations: {{proxy.istio.io/config: \"{config}\"}}\nspec:\n");
    pod(probe).replace("spec:\n", &annotation)
}

#[test]
fn text_that_istio_reads_differently_in_the_proxy_config_is_a_warning() {
    for (config, message) in [
        (
            "proxyMetadata: {A: b}\\n---\\nb: [",
            "Istio reads the key `proxyMetadata`",
        ),
        ("{concurrency: 2} x", "Istio reads the key `concurrency`"),
    ] {
        let text = pod_with_config(config);
        assert_refused(&text, "proxy-config-invalid", message);
        let run = project(&text).run(&["check", "--output-format", "concise"]);
        run.stdout_contains("web.yaml:6:")
            .stdout_contains("warning[ambiguous-yaml]")
            .stdout_contains(message);
    }
}

#[test]
fn a_proxy_config_that_the_injector_rejects_is_an_error() {
    for (config, message) in [
        ("{~: b}", "a key is null"),
        ("proxyMetadata: {null: b}", "a key is null"),
        ("x: {[a]: b}", "a key is a mapping or a list"),
        ("{{a: b}: b}", "a key is a mapping or a list"),
        ("{{a: b}: {c: d}}", "a key is a mapping or a list"),
        ("%YAML 1.2\\n---\\nconcurrency: 2", "`%YAML 1.2`"),
        ("x: .inf", "`.inf` is not finite"),
        ("x: !!int a", "`a` is not a `!!int`"),
        ("<<: x", "`<<` must be"),
        ("\\t", "not YAML"),
        ("x: \\\"\\\\/\\\"", "is not an escape"),
    ] {
        let text = pod_with_config(config);
        assert_refused(&text, "proxy-config-invalid", message);
        let run = project(&text).run(&["check", "--output-format", "concise"]);
        run.exits(1)
            .stdout_contains("error[invalid-traffic-annotation]")
            .stdout_contains(message);
    }
    // The injector would read only the first document, which is empty.
    assert_refused(
        &pod_with_config("---\\n---\\nproxyMetadata: {A: b}"),
        "proxy-config-invalid",
        "would not read the new entry",
    );
    for config in [
        "%YAML 1.1\\n---\\nproxyMetadata: {A: b}",
        "---\\n",
        "# c",
        "1: a",
        ".inf: a",
        "x: 1e400",
    ] {
        let text = pod_with_config(config);
        let run = project(&text).run(&["check", "--output-format", "concise"]);
        run.exits(0).stdout_contains("No findings");
        rewritten_and_undone(&text);
    }
}

#[test]
fn a_block_scalar_without_a_final_line_break_keeps_its_value() {
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    let last = pod(probe) + "  annotations:\n    a: |\n      {}";
    let text = last.replace("metadata:\n  name: web\n  namespace: shop\n", "");
    // The annotations, and a line break, follow the block scalar.
    let text = text.replace(
        "  annotations:\n",
        "metadata:\n  name: web\n  namespace: shop\n  annotations:\n",
    );
    assert_refused(&text, "edit-refused", "ends within a block scalar");
    let (_, undone) = rewritten_and_undone(&format!("{text}\n"));
    assert_eq!(undone, format!("{text}\n"));
    // An edit elsewhere does not change the end of the file.
    let elsewhere = pod(&format!("{probe}    args:\n    - |\n      one"));
    let (_, undone) = rewritten_and_undone(&elsewhere);
    assert_eq!(undone, elsewhere);
}

#[test]
fn fields_that_the_prober_env_cannot_record_are_not_dropped() {
    for (handler, field) in [
        ("grpc: {port: 9090, mode: TLS}", "`grpc.mode`"),
        ("grpc: {port: 9090, mode: null}", "`grpc.mode`"),
        (
            "httpGet: {path: /, port: 80, protocol: HTTP2}",
            "`httpGet.protocol`",
        ),
        ("tcpSocket: {port: 80, new: 1}", "`tcpSocket.new`"),
        (
            "tcpSocket: {<<: {port: 80}}",
            "a merge key within `tcpSocket`",
        ),
        (
            "grpc: {<<: {mode: TLS}, port: 9090}",
            "a merge key within `grpc`",
        ),
    ] {
        let text = pod(&format!("    livenessProbe: {{{handler}}}\n"));
        assert_refused(&text, "unrecorded-field", field);
    }
    project("").run(&["rule", "unrecorded-field"]).exits(0);
}

#[test]
fn empty_hosts_and_services_are_restored() {
    for handler in [
        "grpc: {port: 9090, service: \"\"}",
        "grpc: {port: 9090, service: null}",
        "grpc: {port: 9090}",
        "tcpSocket: {port: 80, host: \"\"}",
        "tcpSocket: {port: 80, host: null}",
        "httpGet: {path: /, port: 80, host: \"\", scheme: \"\"}",
    ] {
        let text = pod(&format!("    livenessProbe: {{{handler}}}\n"));
        let (_, undone) = rewritten_and_undone(&text);
        assert_eq!(undone, text);
        let block = text.replace("{", "\n      ").replace(", ", "\n        ");
        let block = block
            .replace(": \n      port", ":\n        port")
            .replace('}', "");
        let block = block
            .replace(": \n      path", ":\n        path")
            .replace("livenessProbe: \n", "livenessProbe:\n");
        let (_, undone) = rewritten_and_undone(&block);
        assert_eq!(undone, block);
    }
}

#[test]
fn manifests_that_undo_could_not_restore_are_not_rewritten() {
    let probe = "    livenessProbe: {httpGet: {port: 80}}\n";
    for annotations in ["  ? annotations\n  : {}\n", "  ? annotations\n  :\n"] {
        let text = pod(probe).replace(
            "  name: web\n  namespace",
            &format!("{annotations}  name: web\n  namespace"),
        );
        let project = project(&text);
        let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
        if run.code == 0 {
            project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        } else {
            assert!(run.stderr.contains("could not restore"), "{}", run.stderr);
            assert_eq!(project.read("web.yaml"), text);
        }
    }
}

#[test]
fn merge_keys_that_kubectl_rejects_are_ambiguous() {
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    for (line, place, message) in [
        ("    <<: 1\n", "9:5", "not a mapping: `1`"),
        ("    <<: [{a: b}, c]\n", "9:5", "not a mapping"),
    ] {
        assert_ambiguous(&pod(&format!("{line}{probe}")), place, message);
    }
    for line in ["<<: {x: y}", "<<: [{x: y}]", "<<: []"] {
        let text = pod(&format!("    {line}\n{probe}"));
        let run = project(&text).run(&["check", "--output-format", "concise"]);
        assert!(
            !run.stdout.contains("ambiguous-yaml"),
            "{line}{}",
            run.stdout
        );
    }
}

#[test]
fn explicit_keys_in_braces_are_removed_with_their_question_mark() {
    let spec = "spec: {containers: [{name: web, livenessProbe: {httpGet: {path: /, port: 80}}}]}\n";
    let head = "apiVersion: v1\nkind: Pod\n";
    for metadata in [
        "{? name : web, ? namespace : shop}",
        "{? name : web, ? namespace : shop, ? labels : {a: b}}",
        "{? labels : {a: b}, ? name : web, ? namespace : shop}",
        "{name: web, namespace: shop, ? annotations : {? a : b}}",
        "{? annotations : {? a : b}, name: web, namespace: shop}",
        "{\n  ? name : web,\n  ? namespace : shop\n  }",
        "{? # c?\n  name : web,\n  ? namespace # d?\n  : shop }",
        "{?\tname: web,?\tnamespace: shop}",
    ] {
        for text in [
            format!("{head}metadata: {metadata}\n{spec}"),
            format!(
                "{{? apiVersion : v1, ? kind : Pod, ? metadata : {metadata}, {}}}\n",
                spec.trim_end()
            ),
        ] {
            let project = project(&text);
            let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
            assert_eq!(run.code, 0, "{text}: {}", run.stderr);
            project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
            assert_eq!(project.read("web.yaml"), text);
        }
    }
    // An existing, empty value is removed with its `?`.
    for (annotations, left) in [
        (
            "name: web, ? annotations : {}, namespace: shop",
            "name: web, namespace: shop",
        ),
        (
            "? annotations : {}, name: web, namespace: shop",
            "name: web, namespace: shop",
        ),
        (
            "name: web, namespace: shop, ? annotations : {}",
            "name: web, namespace: shop",
        ),
        (
            "name: web, namespace: shop, ? annotations",
            "name: web, namespace: shop",
        ),
    ] {
        let text = |metadata: &str| format!("{head}metadata: {{{metadata}}}\n{spec}");
        let project = project(&text(annotations));
        let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
        if run.code == 0 {
            project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
            let undone = project.read("web.yaml");
            assert!(
                [text(annotations), text(left)].contains(&undone),
                "{undone}"
            );
        } else {
            assert_eq!(project.read("web.yaml"), text(annotations));
        }
    }
}

#[test]
fn undo_ignores_the_release_of_a_partial_container() {
    let text = pod(
        "    livenessProbe: {httpGet: {path: /, port: 80}}\n  - name: istio-proxy\n    image: proxyv2:1.2\n",
    );
    let project = project(&text);
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
        .exits(0);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
    let undone = project.read("web.yaml");
    assert!(
        !undone.contains("rewriteAppHTTPProbers"),
        "{undone}\n{}",
        run.stderr
    );
}

#[test]
fn quoted_scalars_can_continue_at_the_indentation_of_their_key() {
    let probe = "    livenessProbe:\n      httpGet: {path: /, port: 80}\n";
    for value in ["\"one\n    two\nthree\"", "'one\n  two'"] {
        for prefix in ["", "    env: &anchor []\n"] {
            let text = pod(&format!("{prefix}    workingDir: {value}\n{probe}"));
            let project = project(&text);
            let run = project
                .run(&["check", "--output-format", "concise"])
                .exits(0);
            assert!(!run.stdout.contains("syntax-error"), "{}", run.stdout);
            let (rewritten, undone) = rewritten_and_undone(&text);
            assert!(rewritten.contains(value), "{rewritten}");
            assert_eq!(undone, text);
        }
    }
}

#[test]
fn json_objects_that_follow_each_other_are_documents() {
    let web = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME", "namespace": "shop"}, "spec": {"containers": [{"name": "web", "livenessProbe": {"httpGet": {"path": "/", "port": 80}}}]}}"#;
    for separator in ["", "\n", "\n\n  "] {
        let all: Vec<String> = ["a", "b", "c"].map(|name| web.replace("NAME", name)).into();
        let text = all.join(separator) + "\n";
        let project = Project::with(&[("ns.yaml", INJECTED), ("web.json", &text)]);
        project
            .run(&["check"])
            .exits(0)
            .stdout_contains("3 workloads");
        project
            .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
            .exits(0)
            .stderr_contains("3 of 3 workloads rewritten. Changed 1 file");
        project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert_eq!(project.read("web.json"), text);
    }
}

#[test]
fn kustomize_skips_empty_resources() {
    for nothing in [
        "null\n",
        "~\n",
        "[]\n",
        "{}\n",
        "# nothing\n",
        "",
        "---\n---\n",
    ] {
        let project = Project::with(&[
            ("ns.yaml", INJECTED),
            (
                "kustomization.yaml",
                "resources: [nothing.yaml, ns.yaml, web.yaml]\n",
            ),
            ("nothing.yaml", nothing),
            (
                "web.yaml",
                &pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n"),
            ),
        ]);
        let run = project.run(&["check"]).exits(0);
        assert!(
            !run.stdout.contains("kustomize"),
            "{nothing:?}: {}",
            run.stdout
        );
    }
    for something in ["a\n", "3\n", "\"\"\n", "a: 1\n"] {
        let project = Project::with(&[
            ("ns.yaml", INJECTED),
            (
                "kustomization.yaml",
                "resources: [nothing.yaml, ns.yaml, web.yaml]\n",
            ),
            ("nothing.yaml", something),
            (
                "web.yaml",
                &pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n"),
            ),
        ]);
        project
            .run(&["check"])
            .stdout_contains("kustomize refuses to build it");
    }
}

/// A Pod in JSON whose first keys contain escapes and whose text contains a lone surrogate.
const HIDDEN_JSON: &str = r#"{"\u0061piVersion": "v1", "k\u0069nd": "Pod", "metadata": {"name": "x", "annotations": {"e": "\ud83d"}}}"#;

#[test]
fn unreadable_documents_with_escaped_keys_are_errors() {
    let check = |text: &[u8]| {
        let project = Project::new();
        project.write("w.yaml", text);
        project.write("w.json", text);
        project.run(&["check", "--output-format", "concise", "."])
    };
    let wide = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let marked = format!("\u{feff}{text}");
        marked.encode_utf16().flat_map(bytes).collect()
    };
    let yaml = "\"\\x61piVersion\": v1\n\"k\\x69n\\U00000064\": Pod\n";
    for text in [wide(yaml, u16::to_be_bytes), wide(yaml, u16::to_le_bytes)] {
        check(&text)
            .exits(1)
            .stdout_contains("w.yaml:1:1: error[not-utf8]");
    }
    check(format!("{yaml}a: [\n").as_bytes())
        .exits(1)
        .stdout_contains("error[syntax-error]");
    check(HIDDEN_JSON.as_bytes())
        .exits(1)
        .stdout_contains("w.json:1:")
        .stdout_contains("error[syntax-error]");
    // Files of other tools.
    for text in [
        "\"\\x61piVersion\": v1\na: [\n",
        "a: \"\\x61piVersion: \\x6bind:\"\nb: [\n",
        "{\"a\": \"\\ud83d\", \"kind\": \"menu\"}\n",
        "- \"\\x61piVersion\": v1\n- \"\\x6bind\": [\n",
    ] {
        let run = check(text.as_bytes()).exits(0);
        assert!(!run.stdout.contains("error["), "{text}{}", run.stdout);
    }
}

#[test]
fn a_byte_order_mark_after_a_document_marker_is_accepted() {
    let text = pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n");
    for head in [
        "a: b\n---\n\u{feff}",
        "# c\n---\n\u{feff}",
        "a: b\n--- # c\r\n\u{feff}",
        "\u{feff}a: b\n---\n\u{feff}",
    ] {
        let text = format!("{head}{}", text.trim_start_matches("---\n"));
        let project = project(&text);
        let run = project.run(&["check", "--output-format", "concise"]);
        let run = run.exits(0);
        assert!(!run.stdout.contains('['), "{head:?}{}", run.stdout);
        let (rewritten, undone) = rewritten_and_undone(&text);
        assert_ne!(rewritten, text);
        assert_eq!(undone, text);
    }
    let hidden = text.replace("kind:", "\"k\\x69nd\":");
    project(&format!(
        "# c\n---\n\u{feff}{}",
        hidden.trim_start_matches("---\n")
    ))
    .run(&["check", "--output-format", "concise"])
    .stdout_contains("1 workload");
    // In any other position the byte order mark is text.
    project(&format!("a: b\n---\nb: c\n\u{feff}{text}"))
        .run(&["check"])
        .exits(1);
}

#[test]
fn a_byte_order_mark_at_the_start_of_a_part_is_accepted() {
    let text = pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n");
    let text = text.trim_start_matches("---\n");
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for head in [
        "\u{feff}---\n",
        "\n---\n\u{feff}",
        &format!("{object}...\n---\n\u{feff}"),
        &format!("{object}---\n\u{feff}---\n"),
        &format!("{object}---\n# c\n---\n\u{feff}"),
        // The second of two adjacent markers is a line of its part.
        "---\n---\n\u{feff}",
        "---\r\n---\r\n\u{feff}",
        &format!("{object}---\n---\n---\n\u{feff}"),
        &format!("{object}---\r\n--- # c\r\n---\r\n\u{feff}"),
    ] {
        let run = project(&format!("{head}{text}")).run(&["check", "--output-format", "concise"]);
        let run = run.exits(0);
        assert!(!run.stdout.contains('['), "{head:?}{}", run.stdout);
    }
}
