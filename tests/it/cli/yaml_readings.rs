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
fn text_after_a_line_separator_in_a_comment_is_ambiguous() {
    let probe =
        "    livenessProbe:\n      httpGet:\n        path: /healthz\n        port: 8080 # usual";
    for mark in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let text = pod(&format!("{probe}{mark}        scheme: HTTPS\n"));
        assert_ambiguous(&text, "12:27", "`spec.containers[0].livenessProbe.httpGet`");
        let comment = pod(&format!("{probe}{mark}# another comment\n"));
        let (_, undone) = rewritten_and_undone(&comment);
        assert_eq!(undone, comment);
    }
    let label = "metadata: {name: web, namespace: shop} #\u{2028}  labels: {sidecar.istio.io/inject: 'false'}\n";
    let text = pod("    livenessProbe: {httpGet: {port: 80}}\n")
        .replace("metadata:\n  name: web\n  namespace: shop\n", label);
    assert_ambiguous(&text, "3:41", "U+2028 (line separator)");
}

/// The expansion of these aliases would take gigabytes.
#[test]
fn aliases_after_a_line_separator_do_not_multiply() {
    let list = |name: &str, item: &str| format!("{name}: &{name} [{}]", [item; 300].join(", "));
    let lists = [
        list("a", "x"),
        list("b", "*a"),
        list("c", "*b"),
        list("d", "*c"),
    ];
    let hidden = ["apiVersion: v1".to_owned(), "kind: Pod".to_owned()];
    let lines = hidden.into_iter().chain(lists).collect::<Vec<_>>();
    let project = Project::with(&[(
        "web.yaml",
        &format!("# c\u{2028}{}\n", lines.join("\u{2028}")),
    )]);
    let run = project.run(&["check", "--output-format", "concise"]);
    run.exits(1)
        .stdout_contains("[ambiguous-yaml]")
        .stdout_contains("too many values");
}

#[test]
fn a_manifest_after_a_line_separator_in_a_comment_is_ambiguous() {
    let pod = pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n");
    for mark in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let hidden = pod.trim_end().replace('\n', &mark.to_string());
        for text in [
            format!("# a comment{mark}{hidden}\n"),
            format!("# first\n#{mark}{hidden}"),
            format!("---\n# c{mark}{hidden}\n"),
            format!(
                "# c{mark}  {}\n",
                hidden.replace(mark, &format!("{mark}  "))
            ),
            format!("null # c\n---\n# c{mark}{hidden}\n---\n# end\n"),
            format!("{INJECTED}---\n# c{mark}{hidden}\n"),
            format!("# c{mark}{hidden}\n---\n{INJECTED}"),
            format!("# c{mark}{hidden}{mark}apiVersion: v1\n"),
            format!("# c{mark}{hidden}\n...\n"),
        ] {
            let project = Project::with(&[("a.yaml", INJECTED), ("web.yaml", &text)]);
            for arguments in [&["check", "--output-format", "concise"][..], &["predict"]] {
                let run = project.run(arguments).exits(1);
                let output = format!("{}{}", run.stdout, run.stderr);
                assert!(
                    output.contains("[ambiguous-yaml]") && output.contains("kubectl"),
                    "{text:?}: {output}"
                );
            }
            project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
            assert_eq!(project.read("web.yaml"), text);
        }
        // The values file of a chart is a manifest for kubectl.
        let values = format!("# c{mark}apiVersion: v1{mark}kind: Pod\nreplicas: 1\n");
        project(&values)
            .run(&["check", "--output-format", "concise"])
            .exits(1)
            .stdout_contains("error[ambiguous-yaml]");
        // On one line the text is not YAML 1.2.
        project(&format!("{hidden}\n"))
            .run(&["check", "--output-format", "concise"])
            .exits(1)
            .stdout_contains("error[syntax-error]");
        // kubectl does not read a manifest in these texts either.
        for harmless in [
            format!("# a{mark}# apiVersion: v1\n# kind: Pod\n"),
            format!("# All rights{mark}reserved: yes\n"),
            format!("replicas: 1 # a{mark}# b\n# apiVersion: kind\n"),
        ] {
            let run = project(&harmless).run(&["check"]).exits(0);
            run.stdout_contains("Nothing was judged");
        }
    }
    let project = Project::with(&[
        ("a.yaml", INJECTED),
        ("kustomization.yaml", "# c\u{2028}namePrefix: a-\n"),
    ]);
    let run = project.run(&["check", "--output-format", "concise"]);
    run.exits(1)
        .stdout_contains("kustomization.yaml:1:4: error[ambiguous-yaml]");
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
            format!("# c\u{2028}{}\n", one_line(&escaped)),
            "ambiguous-yaml",
        ),
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
        (
            "web.yaml",
            pod.replace("apiVersion", "!!binary YXBpVmVyc2lvbg=="),
            "ambiguous-yaml",
        ),
        (
            "web.json",
            pod.replace("apiVersion", "!!binary YXBpVmVyc2lvbg=="),
            "ambiguous-yaml",
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
        ("c.yaml", "!!binary YQ==\n"),
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
    rewritten_and_undone(&chain(15));
    assert_ambiguous(&chain(16), "26:5", "more than 16 levels");
    assert_ambiguous(&chain(17), "18:12", "more than 16 levels");
    assert_ambiguous(&chain(300), "18:12", "more than 16 levels");
    let mut wide = "x0: &x0 {a: b}\n".to_owned();
    for level in 1..8 {
        let below = vec![format!("*x{}", level - 1); 4].join(", ");
        wide.push_str(&format!("x{level}: &x{level} {{<<: [{below}]}}\n"));
    }
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    let wide = format!("{wide}{}", pod(&format!("{probe}    <<: *x7\n")));
    assert_ambiguous(&wide, "8:10", "10000 mappings");
    // A manifest whose kind is beyond the limit is not recognized as a manifest.
    let root = chain(17).replace("apiVersion: v1\nkind: Pod\n", "");
    let root = root.replace("x0: &x0 {", "x0: &x0 {apiVersion: v1, kind: Pod, ") + "<<: *x17\n";
    project(&root)
        .run(&["check", "--output-format", "concise"])
        .exits(1)
        .stdout_contains("error[ambiguous-yaml]");
}

#[test]
fn merge_keys_in_files_of_other_tools_are_an_error_only_if_they_can_hide_a_manifest() {
    let check = |text: &str| {
        let project = project(text);
        project.run(&["check", "--output-format", "concise"])
    };
    let chain = |base: &str| {
        let levels = (1..=17).map(|level| format!("x{level}: &x{level} {{<<: *x{}}}\n", level - 1));
        format!("x0: &x0 {{{base}}}\n{}", levels.collect::<String>())
    };
    let values = chain("a: b");
    let run = check(&format!("{values}job:\n  <<: *x17\n")).exits(0);
    assert!(
        run.stdout.contains("note[ambiguous-yaml]"),
        "{}",
        run.stdout
    );
    check(&format!("- {}", values.trim_end().replace('\n', "\n  "))).exits(0);
    // Independent of the aliases, the root has keys that are not read.
    check(&format!("{values}<<: *x17\n"))
        .exits(1)
        .stdout_contains("error[ambiguous-yaml]");
    check(&format!("{values}<<: [{{a: b}}, {{<<: *x16}}]\n"))
        .exits(1)
        .stdout_contains("error[ambiguous-yaml]");
}

#[test]
fn an_encoded_key_in_files_of_other_tools_is_an_error_only_if_it_is_a_key_of_a_manifest() {
    for (key, code) in [
        ("YXBpVmVyc2lvbg==", 1),
        ("a2luZA==", 1),
        // The last bits before the padding are ignored.
        ("a2luZB==", 1),
        ("YQ==", 0),
        ("a2luZHM=", 0),
        ("a2lu", 0),
        ("kind", 0),
    ] {
        let text = format!("replicas: 1\n!!binary {key}: Pod\n");
        let run = project(&text).run(&["check", "--output-format", "concise"]);
        let run = run.exits(code);
        assert_eq!(
            run.stdout.contains("error[ambiguous-yaml]"),
            code == 1,
            "{key}: {}",
            run.stdout
        );
    }
}

#[test]
fn a_tab_that_kubectl_and_kustomize_reject_is_a_syntax_error() {
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    let args = |text: &str| pod(&format!("{probe}{text}"));
    for (text, place) in [
        (pod(probe).replace("  - name", "  -\tname"), "8:4"),
        (args("    args:\n    - \ta\n"), "11:7"),
        (args("    args:\n    -\ta\n"), "11:6"),
        (args("    args:\n    -\t{a: b}\n"), "11:6"),
        (args("    ?\timage\n    : a\n"), "10:6"),
        (args("\t\n    image: a\n"), "10:1"),
        (args("  \t# comment\n    image: a\n"), "10:3"),
        (
            args("    command:\n    - |\n      a\n      \tb\n    image: a\n\t# c\n    tty: true\n"),
            "15:1",
        ),
        (args("    command:\n    - |\n      \ta\n"), "12:7"),
    ] {
        let project = project(&text);
        let run = project.run(&["check", "--output-format", "concise"]);
        run.exits(1)
            .stdout_contains(&format!("web.yaml:{place}: error[syntax-error]"))
            .stdout_contains("found a tab where kubectl and kustomize accept only spaces");
        let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert_eq!(project.read("web.yaml"), text);
    }
    for text in [
        pod(probe).replace("- name: web", "- name:\tweb\t# c"),
        args("    command:\n    - |\n      a\n      \tb\n    image: a\n"),
        args("    image: &a\tb\n      \t\n"),
        format!("---\t# c\n{}", pod(probe)),
    ] {
        let (_, undone) = rewritten_and_undone(&text);
        assert_eq!(undone, text);
    }
    // Other tools may read YAML 1.2.
    let run = project("a:\n-\tb\n").run(&["check"]).exits(0);
    assert!(!run.stdout.contains("tab"), "{}", run.stdout);
}

#[test]
fn a_document_after_an_end_marker_is_ambiguous() {
    let text = pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n");
    let hidden = text.trim_start_matches("---\n");
    for before in [
        "a: 1\n...\n",
        "---\n...\n",
        "a: 1\n... # end\n# comment\n\n",
    ] {
        let line = before.lines().count() + 1;
        assert_ambiguous(
            &format!("{before}{hidden}"),
            &format!("{line}:1"),
            "follows `...`",
        );
    }
    let marked = format!("a: 1\n...\n# comment\n---\n{hidden}");
    let (_, undone) = rewritten_and_undone(&marked);
    assert_eq!(undone, marked);
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
fn text_after_an_escaped_line_separator_in_the_proxy_config_is_an_error() {
    for (config, character, read) in [
        (
            "# x\\u2028proxyMetadata: {A: b}\\n",
            "U+2028",
            "Istio reads the key `proxyMetadata`",
        ),
        (
            "statusPort: 15020 # x\\u2029concurrency: 1\\n",
            "U+2029",
            "Istio reads the keys `statusPort`, `concurrency`",
        ),
    ] {
        let text = pod_with_config(config);
        assert_refused(&text, "proxy-config-invalid", character);
        for arguments in [&["check", "--output-format", "concise"][..], &["predict"]] {
            let run = project(&text).run(arguments).exits(1);
            let output = unwrapped(&format!("{}{}", run.stdout, run.stderr));
            for part in ["web.yaml:6:", "ambiguous-yaml", character, read] {
                assert!(output.contains(part), "{part}: {output}");
            }
            assert!(!output.contains("refuse"), "{output}");
        }
    }
    let broken = pod_with_config("# x\\Nconcurrency: [\\n");
    assert_refused(&broken, "proxy-config-invalid", "U+0085");
    let run = project(&broken).run(&["check", "--output-format", "concise"]);
    run.exits(1)
        .stdout_contains("web.yaml:6:")
        .stdout_contains("Istio refuses the pod")
        .stdout_contains("U+0085");
}

#[test]
fn text_that_istio_reads_differently_in_the_proxy_config_is_a_warning() {
    for (config, message) in [
        ("proxyMetadata: {A: !!binary YQ==}", "decoded bytes"),
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
fn a_question_mark_that_touches_a_key_is_ambiguous() {
    let text = pod("    livenessProbe: {httpGet: {path: /a, port: 80, ?path: /b}}\n");
    assert_ambiguous(&text, "9:51", "`?` that touches a key");
}

#[test]
fn tags_that_change_a_value_are_ambiguous() {
    let with = |path: &str| {
        pod(&format!(
            "    livenessProbe: {{httpGet: {{path: {path}, port: 80}}}}\n"
        ))
    };
    assert_ambiguous(
        &with("!!binary L3JlYWR5"),
        "9:37",
        "kubectl reads the decoded bytes",
    );
    assert_ambiguous(&with("! 8080"), "9:37", "a string for kubectl");
    for (written, path) in [
        ("!custom null", "null"),
        ("!!map 8080", "8080"),
        ("!!str /x", "/x"),
    ] {
        let (rewritten, undone) = rewritten_and_undone(&with(written));
        assert!(
            rewritten.contains(&format!(r#"\"path\":\"{path}\""#)),
            "{rewritten}"
        );
        assert!(undone.contains(path), "{undone}");
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
fn values_that_kubectl_rejects_are_ambiguous() {
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    for (line, place, message) in [
        ("    x: !!int a\n", "9:8", "!!int `a`: kubectl rejects"),
        ("    x: !!int '1.5'\n", "9:8", "kubectl rejects"),
        ("    x: !!float ~\n", "9:8", "kubectl rejects"),
        ("    x: !!bool 1\n", "9:8", "kubectl rejects"),
        ("    x: !!null a\n", "9:8", "kubectl rejects"),
        ("    <<: 1\n", "9:5", "not a mapping: `1`"),
        ("    <<: [{a: b}, c]\n", "9:5", "not a mapping"),
    ] {
        assert_ambiguous(&pod(&format!("{line}{probe}")), place, message);
    }
    for line in [
        "x: !!int '1'",
        "x: !!float 1",
        "x: !!bool 'yes'",
        "x: !!null ''",
        "<<: {x: y}",
        "<<: [{x: y}]",
        "<<: []",
    ] {
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
fn tabs_at_the_start_of_lines_within_quotes_and_brackets_are_accepted() {
    let literal = "    command:\n    - |\n      a\n      \tb\n";
    for probe in [
        "    livenessProbe: {\n\thttpGet: {path: /,\n\t\tport: 80}\n    }\n",
        "    livenessProbe: {httpGet: {path: /, port: 80}}\n    args: [a,\n\tb,\n\t]\n",
        "    livenessProbe: {httpGet: {path: /, port: 80}}\n    args: [\"a\n\tb\n\t\tc\", 'd\n \te']\n",
    ] {
        for text in [
            pod(probe),
            pod(&format!("{probe}{literal}")),
            pod(&format!("{literal}{probe}")),
        ] {
            let run = project(&text).run(&["check", "--output-format", "concise"]);
            run.exits(0).stdout_contains("1 workload");
            let (rewritten, undone) = rewritten_and_undone(&text);
            assert_ne!(rewritten, text);
            assert_eq!(undone, text);
        }
    }
    for rejected in [
        pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n\timage: a\n"),
        pod("    args: [a,\n\tb]\n\timage: a\n"),
        pod("    args:\n\t- a\n"),
    ] {
        let run = project(&rejected).run(&["check", "--output-format", "concise"]);
        run.exits(1).stdout_contains("error[syntax-error]");
    }
}

/// Lines left of the quote that start with a tab, between lines that start with spaces.
#[test]
fn quoted_scalars_that_mix_tabs_and_blanks_are_accepted() {
    let probe = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    let literal = "    command:\n    - |\n      a\n      \tb\n\n       \tc\n";
    let lines = |count: usize| "      a\n\tb\n \tc\n".repeat(count);
    for value in [
        format!("\"a\n{}      \"", lines(2)),
        format!("\"a\n{}    \"", lines(2)),
        format!("'a\n{}d'", lines(3)),
        format!("\"a\n{}\t\"", lines(3)),
        format!("\"a\\\n\t\\\n{}\t\n  \t\nb\"", lines(2)),
        format!("\"a\n{}\"", lines(100)),
        format!("\"a\n{}\"", lines(2)).replace('\n', "\r\n"),
    ] {
        // With an anchor, the full parser reads the document.
        for property in ["", "&anchor "] {
            for other in ["", literal] {
                let text = pod(&format!(
                    "{other}    workingDir: {property}{value}\n{probe}"
                ));
                assert_accepted(&text);
            }
        }
    }
    let args = (0..100).map(|at| format!("    - &a{at} \"b\n\tc\n  d\"\n"));
    assert_accepted(&pod(&format!(
        "    args:\n{}{probe}",
        args.collect::<String>()
    )));
    let args = "a,\n      b,\n\tc,\n".repeat(100);
    assert_accepted(&pod(&format!("    args: [{args}]\n{probe}")));
}

/// Checks that `check` reports no syntax error, and that the rewrite can be undone.
#[track_caller]
fn assert_accepted(text: &str) {
    let run = project(text).run(&["check", "--output-format", "concise"]);
    let run = run.exits(0).stdout_contains("1 workload");
    assert!(!run.stdout.contains("syntax-error"), "{}", run.stdout);
    let (_, undone) = rewritten_and_undone(text);
    assert_eq!(undone, text);
}

/// Tabs within quotes in the same document do not hide the other tabs.
#[test]
fn a_tab_outside_of_quotes_is_reported_at_its_location() {
    let quoted = "    workingDir: &a \"a\n      b\n\tc\n  d\n\te\"\n";
    for (text, place) in [
        (format!("{quoted}\timage: a\n"), "14:2"),
        (format!("    args:\n\t- a\n{quoted}"), "10:2"),
        (format!("{quoted}    args: [a,\n\tb]\n\timage: a\n"), "16:2"),
        (format!("    args:\n    - |\n\ta\n{quoted}"), "10:7"),
        (format!("{quoted}    args: [\n"), "14:11"),
    ] {
        let run = project(&pod(&text)).run(&["check", "--output-format", "concise"]);
        run.exits(1)
            .stdout_contains(&format!("web.yaml:{place}: error[syntax-error]"));
    }
}

/// kubectl and kustomize read the mark as a part of the first key, or reject the file.
#[test]
fn a_byte_order_mark_that_kubectl_does_not_skip_is_a_syntax_error() {
    let text = pod("    livenessProbe: {httpGet: {path: /, port: 80}}\n");
    let text = text.trim_start_matches("---\n");
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for head in [
        // Not a separator: the first line of the file.
        "---\n\u{feff}",
        "---\r\n\u{feff}",
        "\u{feff}---\n\u{feff}",
        // Not a separator: the line break before it belongs to the previous separator.
        &format!("{object}---\n---\n\u{feff}"),
        &format!("{object}---\n\u{feff}---\n\u{feff}"),
        &format!("{object}---\r\n---\r\n\u{feff}"),
        &format!("{object}---\n--- # c\r\n\u{feff}"),
        "---\n---\n---\n\u{feff}",
        &format!("{object}---\n---\n---\n---\n\u{feff}"),
        // Not a separator: its line starts with a mark.
        &format!("{object}---\n---\n\u{feff}---\n"),
        &format!("{object}---\n\u{feff}---\n\u{feff}---\n"),
        // Not the start of a part.
        &format!("{object}---\n# c\n\u{feff}"),
        &format!("{object}---\n\n\u{feff}"),
        &format!("{object}\u{feff}---\n"),
    ] {
        let text = format!("{head}{text}");
        let run = project(&text).run(&["check", "--output-format", "concise"]);
        run.exits(1).stdout_contains("error[syntax-error]");
    }
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
