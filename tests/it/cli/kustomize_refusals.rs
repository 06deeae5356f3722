//! Kustomizations that kustomize refuses to build are named, and those that it builds are not.

use std::process::Command;

use crate::support::kustomize;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT};
use crate::support::project::Project;

const HOSTNAME: &str = "/spec/hostname";

/// Returns a project whose kustomization has the given fields, with `patch.yaml` of the text `patch`.
fn project(fields: &str, patch: &str) -> Project {
    Project::with(&[
        ("pod.yaml", PROBED),
        ("patch.yaml", patch),
        (
            "kustomization.yaml",
            &format!("resources: [pod.yaml]\n{fields}\n"),
        ),
    ])
}

/// Checks that meshprobe names what kustomize refuses, with the given message.
#[track_caller]
fn assert_refused(project: &Project, message: Option<&str>) {
    let run = project.run(&["check"]);
    let output = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_named = output.contains("kustomization-not-modelled");
    assert_eq!(is_named, message.is_some(), "{output}");
    assert!(output.contains(message.unwrap_or_default()), "{output}");
    let Some(kustomize) = kustomize() else {
        return;
    };
    let build = Command::new(kustomize)
        .args(["build", "."])
        .current_dir(project.path(""))
        .output()
        .unwrap();
    assert_eq!(build.status.success(), message.is_none(), "{build:?}");
}

#[test]
fn a_json_patch_that_starts_with_a_bracket_must_be_json() {
    let flow = format!("[{{op: add, path: {HOSTNAME}, value: web}}]");
    let json = format!(r#"[{{"op": "add", "path": "{HOSTNAME}", "value": "web"}}]"#);
    let fault = Some("text that starts with `[` must be JSON, with keys and values in quotes");
    for (patch, message) in [
        (flow.clone(), fault),
        (json.replace("}]", "},]"), fault),
        (format!("# YAML\n{flow}"), None),
        (json, None),
        (format!("- {{op: add, path: {HOSTNAME}, value: web}}"), None),
    ] {
        let inline = patch.replace('\n', "\n      ");
        for fields in [
            format!("patches:\n  - target: {{kind: Pod}}\n    patch: |\n      {inline}"),
            "patches: [{target: {kind: Pod}, path: patch.yaml}]".to_owned(),
            "patchesJson6902: [{target: {kind: Pod, name: web, version: v1}, path: patch.yaml}]"
                .to_owned(),
        ] {
            assert_refused(&project(&fields, &patch), message);
        }
    }
}

#[test]
fn an_unknown_order_is_refused() {
    let message = "`alphabetic` is not an order (`fifo` or `legacy`)";
    for (order, message) in [
        ("alphabetic", Some(message)),
        ("legacy", None),
        ("fifo", None),
    ] {
        let fields = format!("sortOptions: {{order: {order}}}");
        assert_refused(&project(&fields, ""), message);
    }
}

/// Returns a project with one kustomization, and `pod.yaml`.
fn kustomization(text: &str) -> Project {
    Project::with(&[
        ("pod.yaml", PROBED),
        ("folder/pod.yaml", PROBED),
        ("kustomization.yaml", text),
    ])
}

#[test]
fn unknown_fields_are_refused_even_if_the_kustomization_renders_nothing() {
    for (text, message) in [
        (
            "resource: [pod.yaml]",
            "`resource` is not a field of a kustomization (did you mean `resources`?)",
        ),
        (
            "base: [pod.yaml]",
            "`base` is not a field of a kustomization (did you mean `bases`?)",
        ),
        (
            "resources: [pod.yaml]\npatch: [a]",
            "`patch` is not a field of a kustomization (did you mean `patches`?)",
        ),
        (
            "resources: [pod.yaml]\ncomponent: [a]",
            "(did you mean `components`?)",
        ),
        (
            "resources: [pod.yaml]\nx-shared: [a]",
            "`x-shared` is not a field of a kustomization: kustomize refuses",
        ),
        (
            "resources: [pod.yaml]\nimages: [{nam: a}]",
            "`nam` is not a field of a kustomization (did you mean `name`?)",
        ),
        (
            "resources: [pod.yaml]\npatches: [{pth: pod.yaml}]",
            "(did you mean `path`?)",
        ),
        (
            "resources: [pod.yaml]\nconfigMapGenerator: [{name: a, literal: [a=b]}]",
            "(did you mean `literals`?)",
        ),
    ] {
        assert_refused(&kustomization(text), Some(message));
        kustomization(text).run(&["check"]).exits(1);
    }
}

/// kustomize ignores the case of names. That is not modelled, and nothing depends on it silently.
#[test]
fn fields_in_another_case_are_not_modelled() {
    for (text, name, field) in [
        ("Resources: [pod.yaml]", "Resources", "resources"),
        ("resources: [pod.yaml]\nPATCHES: []", "PATCHES", "patches"),
        (
            "re\u{17f}ources: [pod.yaml]",
            "re\u{17f}ources",
            "resources",
        ),
        (
            "resources: [pod.yaml]\nimages: [{name: a, NewName: b}]",
            "NewName",
            "newName",
        ),
    ] {
        let run = kustomization(text).run(&["check", "--output-format", "concise"]);
        let message = format!("`{name}` is not modelled: kustomize reads it as `{field}`");
        assert!(run.stdout.contains(&message), "{text}\n{}", run.stdout);
        assert!(!run.stdout.contains("refuses"), "{text}\n{}", run.stdout);
    }
}

#[test]
fn values_of_another_type_are_refused() {
    for (fields, expected) in [
        (
            "resources: pod.yaml",
            "`resources` of a kustomization is a list of strings",
        ),
        (
            "resources: [{a: b}]",
            "`resources` of a kustomization is a list of strings",
        ),
        (
            "resources: [1]",
            "`resources` of a kustomization is a list of strings",
        ),
        (
            "resources: [pod.yaml]\ncomponents: a",
            "`components` of a kustomization is a list of strings",
        ),
        (
            "resources: [pod.yaml]\npatches: {a: b}",
            "`patches` of a kustomization is a list of mappings",
        ),
        (
            "resources: [pod.yaml]\npatches: [pod.yaml]",
            "`patches` of a kustomization is a list of mappings",
        ),
        (
            "resources: [pod.yaml]\nnamespace: 1",
            "`namespace` of a kustomization is a string",
        ),
        (
            "resources: [pod.yaml]\ncommonLabels: [a]",
            "`commonLabels` of a kustomization is a mapping",
        ),
        (
            "resources: [pod.yaml]\ngeneratorOptions: []",
            "`generatorOptions` of a kustomization is a mapping",
        ),
        ("- pod.yaml", "the kustomization is not a mapping"),
    ] {
        assert_refused(&kustomization(fields), Some(expected));
    }
}

#[test]
fn a_wrong_kind_or_version_is_refused() {
    for (text, message) in [
        ("kind: Kustomisation", Some("the kind is `Kustomisation`")),
        (
            "apiVersion: kustomize.config.k8s.io/v1",
            Some("and not `kustomize.config.k8s.io/v1beta1`"),
        ),
        (
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization",
            None,
        ),
    ] {
        let text = format!("{text}\nresources: [pod.yaml]");
        assert_refused(&kustomization(&text), message);
    }
    // Another object that has the name of a kustomization.
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./folder}\n";
    let run = kustomization(flux).run(&["check"]);
    assert!(
        !run.stdout.contains("warning[kustomization-not-modelled]"),
        "{}",
        run.stdout
    );
}

#[test]
fn folders_and_files_without_objects_are_refused() {
    for (text, message) in [
        (
            "resources: [pod.yaml, folder]",
            Some("`folder` is a folder without a kustomization"),
        ),
        ("resources: []", None),
        (
            "resources: [pod.yaml]\ncomponents: [pod.yaml]",
            Some("a component is a folder, not a file"),
        ),
    ] {
        assert_refused(&kustomization(text), message);
    }
    let project = kustomization("resources: [values.yaml, pod.yaml]");
    project.write("values.yaml", "a: b\n");
    assert_refused(
        &project,
        Some("`values.yaml` cannot be read as Kubernetes objects: kustomize refuses"),
    );
}

/// A kustomization without settings may be a placeholder that no tool builds.
#[test]
fn an_empty_kustomization_is_a_note() {
    let project = kustomization("kind: Kustomization\n");
    assert_refused(&project, Some("the kustomization is empty"));
    let run = project.run(&["check", "--fail-on", "note"]);
    assert!(
        run.stdout.contains("note[kustomization-not-modelled]"),
        "{}",
        run.stdout
    );
    project.write("prod/kustomization.yaml", "resources: [..]\n");
    let run = project.run(&["check"]).exits(1);
    assert!(
        run.stdout.contains("warning[kustomization-not-modelled]"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_repeated_key_of_a_kustomization_is_not_refused_but_has_a_warning() {
    let project = kustomization("resources: [other.yaml]\nresources: [pod.yaml]\n");
    project.write(
        "other.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    assert_refused(&project, None);
    let run = project.run(&["check"]).exits(1);
    assert!(
        run.stdout
            .contains("duplicate key `resources`: kustomize uses the last value"),
        "{}",
        run.stdout
    );
}

#[test]
fn an_empty_patch_is_refused_where_kustomize_requires_one() {
    let empty = "the patch is empty";
    let merge =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {a: b}}\n";
    let target = "target: {kind: Pod, name: web, version: v1}";
    for text in ["", "# nothing yet\n", "---\n"] {
        let listed = format!("patches: [{{path: patch.yaml, {target}}}]");
        assert_refused(&project(&listed, text), None);
        assert_refused(&project("patches: [{path: patch.yaml}]", text), None);
        assert_refused(
            &project("patchesStrategicMerge: [patch.yaml]", text),
            Some(empty),
        );
        let json = format!("patchesJson6902: [{{path: patch.yaml, {target}}}]");
        assert_refused(&project(&json, text), Some(empty));
        let two = project("patchesStrategicMerge: [patch.yaml, second.yaml]", text);
        two.write("second.yaml", merge);
        assert_refused(&two, None);
    }
    let inline = "patches:\n- patch: |-\n    # nothing yet\n  target: {kind: Pod}";
    assert_refused(&project(inline, ""), None);
    let message = "a patch has either `path` or `patch`";
    let fields = "patches: [{patch: \"\", target: {kind: Pod}}]";
    assert_refused(&project(fields, ""), Some(message));
    let comments = "patchesStrategicMerge:\n- |-\n  # nothing\n  # yet";
    assert_refused(&project(comments, ""), Some(empty));
}

#[test]
fn a_variable_that_is_not_yaml_is_refused_and_an_object_without_a_version_is_not() {
    let config = |data: &str| {
        let project = project("", "");
        project.write("kustomization.yaml", "resources: [pod.yaml, config.yaml]\n");
        project.write("config.yaml", data);
        project
    };
    let object = "apiVersion: v1\nkind: ConfigMap\n";
    let message =
        "`config.yaml` cannot be read as Kubernetes objects: kustomize refuses to build it";
    for metadata in [
        "{name: x, labels: {a: [${V}]}}",
        "{name: ${V}, labels: {a: b}}",
    ] {
        let text = format!("{object}metadata: {metadata}\n");
        assert_refused(&config(&text), Some(message));
    }
    let text = "kind: ConfigMap\nmetadata: {name: x}\n";
    let output = config(text).run(&["check"]).exits(0).stdout;
    assert!(!output.contains("refuses"), "{output}");
    for text in [
        "metadata: {name: x}\n",
        "kind: ConfigMap\nmetadata: {}\n",
        "kind: ''\nmetadata: {name: x}\n",
    ] {
        assert_refused(&config(text), Some(message));
    }
}

/// A policy in namespace `shop`, and a second one in `other`.
fn policies() -> String {
    ["shop", "other"]
        .map(|namespace| STRICT.replace("shop", namespace))
        .join("---\n")
}

/// Facts of a build that kustomize refuses are those of the manifests, whatever the cause.
#[test]
fn a_build_that_is_refused_states_facts_as_they_are_written() {
    for (fields, cause) in [
        ("", Some("two objects become PeerAuthentication/default")),
        ("resourcez: []", Some("is not a field")),
        ("commonLabels: [a]", Some("kustomize refuses to build it")),
        (
            "patches: [{target: {kind: Pod}, path: missing.yaml}]",
            Some("does not exist"),
        ),
        ("patches: [{patch: ''}]", Some("either `path` or `patch`")),
    ] {
        let text = match fields {
            "" => policies(),
            _ => STRICT.to_owned(),
        };
        let kustomization =
            format!("namespace: istio-system\nresources: [policies.yaml]\n{fields}\n");
        let project = Project::with(&[
            ("policies.yaml", &text),
            ("kustomization.yaml", &kustomization),
        ]);
        for namespace in ["shop", "third"] {
            let injected = INJECTED.replace("shop", namespace);
            project.write(&format!("apps/{namespace}-ns.yaml"), injected);
            let pod = NOT_REWRITTEN.replace("shop", namespace);
            project.write(&format!("apps/{namespace}.yaml"), pod);
        }
        let run = project.run(&["check", "--output-format=concise"]).exits(1);
        let output = run.stdout;
        assert!(
            output.contains("apps/shop.yaml") && !output.contains("apps/third.yaml"),
            "{output}"
        );
        assert!(!output.contains("root-selector"), "{output}");
        assert!(cause.is_none_or(|cause| output.contains(cause)), "{output}");
    }
}

/// The labels that a refused overlay adds to a Namespace are in no cluster.
#[test]
fn a_patch_of_a_refused_build_is_not_a_fact() {
    let namespace = INJECTED.replace("istio-injection: enabled", "team: a");
    let patch = "patches: [{target: {kind: Namespace}, patch: '[{\"op\": \"add\", \"path\": \
                 \"/metadata/labels/istio-injection\", \"value\": \"enabled\"}]'}]";
    for (refused, outcome) in [("", "  fails  "), ("resourcez: []\n", "  not-in-mesh  ")] {
        let project = Project::with(&[
            ("mesh/namespace.yaml", &*namespace),
            (
                "mesh/kustomization.yaml",
                &format!("{refused}resources: [namespace.yaml]\n{patch}\n"),
            ),
            ("mtls.yaml", STRICT),
            ("apps/web.yaml", NOT_REWRITTEN),
        ]);
        let table = project.run(&["predict"]).exits(0).stdout;
        assert!(table.contains(outcome), "{table}");
    }
}

#[test]
fn one_cause_is_one_finding() {
    let pods: Vec<String> = (0..9)
        .map(|at| PROBED.replace("web", &format!("p{at}")))
        .collect();
    let project = Project::with(&[
        ("base/pods.yaml", &pods.join("---\n")),
        ("base/kustomization.yaml", "resources: [pods.yaml]\n"),
        ("kustomization.yaml", "resources: [base, base/../base]\n"),
    ]);
    let output = project
        .run(&["check", "--output-format=concise"])
        .exits(1)
        .stdout;
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| line.contains("not-modelled"))
        .collect();
    let [line] = lines[..] else {
        panic!("{output}")
    };
    assert!(
        line.contains("Pod/p2 is included twice and 6 more: kustomize refuses to build it"),
        "{line}"
    );
}

#[test]
fn a_template_that_the_tree_does_not_deploy_is_a_note() {
    let broken = "resources: ['${APP}.yaml', missing.yaml]\nnamePrefix: [a]\n";
    let project = Project::with(&[
        ("apps/pod.yaml", PROBED),
        ("apps/kustomization.yaml", "resources: [pod.yaml]\n"),
        ("hack/template/kustomization.yaml", broken),
    ]);
    project.run(&["check"]).exits(1);
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ";
    project.write("clusters/a.yaml", format!("{flux}apps}}\n"));
    let output = project.run(&["check"]).exits(0).stdout;
    assert!(
        output.contains("note[kustomization-not-modelled]"),
        "{output}"
    );
    project.write("clusters/a.yaml", format!("{flux}hack/template}}\n"));
    project.run(&["check"]).exits(1);
    // Without a placeholder, someone may build it.
    project.write("clusters/a.yaml", format!("{flux}apps}}\n"));
    project.write(
        "hack/template/kustomization.yaml",
        "resources: [missing.yaml]\n",
    );
    project.run(&["check"]).exits(1);
}

/// kustomize merges the annotations of an object, and rejects other equal keys.
#[test]
fn repeated_annotations_of_an_object_are_merged() {
    let values = |metadata: &str| {
        let text = format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n{metadata}");
        let files = [
            ("namespace.yaml", &*text),
            ("pod.yaml", PROBED),
            (
                "kustomization.yaml",
                "resources: [namespace.yaml, pod.yaml]\n",
            ),
        ];
        let project = Project::with(&files);
        (
            project.run(&["check"]).stdout,
            project.run(&["predict", "--explain"]).stdout,
        )
    };
    let blocks = |first: &str, second: &str| {
        format!(
            "  annotations: {{linkerd.io/inject: {first}}}\n  annotations: {{linkerd.io/inject: {second}, a: b}}\n"
        )
    };
    let (check, explained) = values(&blocks("enabled", "disabled"));
    let check = check.split_whitespace().collect::<Vec<_>>().join(" ");
    let merged = "duplicate key `annotations`: kubectl uses the last value, kustomize merges both, and the first value of an annotation applies";
    assert!(check.contains(merged), "{check}");
    let off = "injection is switched off here";
    assert!(!explained.contains(off), "{explained}");
    let (_, explained) = values(&blocks("disabled", "enabled"));
    assert!(
        explained.contains(&format!("{off} (namespace.yaml:5)")),
        "{explained}"
    );
    for (metadata, message) in [
        (
            "  annotations: {a: b, a: c}\n",
            "`a`: kubectl and kustomize use the last value",
        ),
        (
            "  labels: {a: b, a: c}\n",
            "`a`: kubectl uses the last value, kustomize rejects the file",
        ),
        (
            "  labels: {a: b}\n  labels: {a: c}\n",
            "`labels`: kubectl uses the last value, kustomize rejects the file",
        ),
    ] {
        let (check, _) = values(metadata);
        let check = check.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(check.contains(message), "{check}");
    }
}

#[test]
fn everything_that_is_refused_in_a_file_is_one_finding() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [a.yaml, b.yaml]\n";
    let config =
        |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let absent = "resources: [pod.yaml, a.yaml, b.yaml, folder/c.yaml, d]\ncomponents: [e]";
    for (text, messages) in [
        (
            absent,
            "`a.yaml` does not exist, `b.yaml` does not exist, `folder/c.yaml` does not exist and 2 more",
        ),
        (
            "resources: [pod.yaml]\ncomponents: [twice, twice]",
            "ConfigMap/a is included twice, ConfigMap/b is included twice",
        ),
    ] {
        let project = kustomization(text);
        project.write("twice/kustomization.yaml", component);
        project.write("twice/a.yaml", config("a"));
        project.write("twice/b.yaml", config("b"));
        assert_refused(&project, Some(messages));
        let output = project.run(&["check"]).stdout;
        assert_eq!(output.matches("warning[").count(), 1, "{output}");
    }
}

#[test]
fn a_variable_without_an_object_or_a_field_is_refused() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop, labels: {a: b}}\nspec: {ports: [{port: 80}]}\n";
    let refused = |text: &str, message: Option<&str>| {
        let project = kustomization(&format!("resources: [pod.yaml, service.yaml]\n{text}"));
        project.write("service.yaml", service);
        project.write(
            "base/kustomization.yaml",
            "resources: [config.yaml]\nnamePrefix: x-\nvars: [{name: Z, objref: {kind: ConfigMap, name: a, apiVersion: v1}}]\n",
        );
        project.write(
            "base/config.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        );
        assert_refused(&project, message);
    };
    let variable = |object: &str, field: &str| {
        format!("vars: [{{name: X, objref: {{{object}}}, fieldref: {{fieldPath: '{field}'}}}}]")
    };
    let web = "kind: Service, name: web, apiVersion: v1";
    for (object, field, message) in [
        (web, "metadata.name", None),
        (web, "metadata.labels", None),
        (web, "spec.ports[0].port", None),
        (
            "kind: Service, name: web, apiVersion: v1, namespace: shop",
            "metadata.name",
            None,
        ),
        (
            "kind: Service, name: api, apiVersion: v1",
            "metadata.name",
            Some("variable `X` names Service/api, which does not exist"),
        ),
        (
            "kind: ConfigMap, name: web, apiVersion: v1",
            "metadata.name",
            Some("names ConfigMap/web, which does not exist"),
        ),
        (
            "kind: Service, name: web, apiVersion: v2",
            "metadata.name",
            Some("names Service/web, which does not exist"),
        ),
        (
            "kind: Service, name: web, apiVersion: v1, namespace: a",
            "metadata.name",
            Some("names Service/web, which does not exist"),
        ),
        (
            web,
            "spec.clusterIP",
            Some("variable `X` names `spec.clusterIP`, which Service/web does not have"),
        ),
        (
            web,
            "spec.ports[1].port",
            Some("names `spec.ports[1].port`, which Service/web does not have"),
        ),
    ] {
        refused(&variable(object, field), message);
    }
    let generated = "kind: ConfigMap, name: made, apiVersion: v1";
    let generator = "configMapGenerator: [{name: made, literals: [k=v]}]";
    refused(
        &format!("{generator}\n{}", variable(generated, "data.k")),
        None,
    );
    refused(
        &format!("namePrefix: a-\n{}", variable(web, "metadata.name")),
        None,
    );
    let renamed = "resources: [pod.yaml, base]\nnameSuffix: -y\nnamespace: other";
    let project = kustomization(renamed);
    project.write("base/kustomization.yaml", "resources: [config.yaml]\nnamePrefix: x-\nvars: [{name: Z, objref: {kind: ConfigMap, name: x-a, apiVersion: v1}}]\n");
    project.write(
        "base/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    assert_refused(&project, None);
    // The object may be one of those that are not known.
    let unknown = kustomization(&format!(
        "resources: [pod.yaml, 'https://example.com/x?ref=1']\n{}",
        variable("kind: Service, name: api, apiVersion: v1", "metadata.name")
    ));
    let output = unknown.run(&["check"]).stdout;
    assert!(!output.contains("variable"), "{output}");
}

#[test]
fn generators_that_kustomize_refuses_are_named() {
    let absent = |kind: &str| format!("requires {kind}/c, which does not exist");
    for (field, kind) in [
        ("configMapGenerator", "ConfigMap"),
        ("secretGenerator", "Secret"),
    ] {
        for (generator, message) in [
            (
                "{name: c, behavior: merge, literals: [a=b]}",
                Some(absent(kind)),
            ),
            (
                "{name: c, behavior: replace, literals: [a=b]}",
                Some(absent(kind)),
            ),
            ("{name: c, behavior: create, literals: [a=b]}", None),
            ("{name: c, behavior: other, literals: [a=b]}", None),
            ("{name: c}", None),
            (
                "{literals: [a=b]}",
                Some("the generator has no name".to_owned()),
            ),
            (
                "{name: '', literals: [a=b]}",
                Some("the generator has no name".to_owned()),
            ),
            (
                "{name: c, files: [gone.txt]}",
                Some("`gone.txt` does not exist".to_owned()),
            ),
            (
                "{name: c, files: [k=gone.txt]}",
                Some("`gone.txt` does not exist".to_owned()),
            ),
            (
                "{name: c, envs: [gone.env]}",
                Some("`gone.env` does not exist".to_owned()),
            ),
            (
                "{name: c, env: gone.env}",
                Some("`gone.env` does not exist".to_owned()),
            ),
            (
                "{name: c, files: [folder]}",
                Some("`folder` is a folder and not a file".to_owned()),
            ),
            (
                "{name: c, files: [k=folder]}",
                Some("`folder` is a folder and not a file".to_owned()),
            ),
            (
                "{name: c, envs: [folder]}",
                Some("`folder` is a folder and not a file".to_owned()),
            ),
            (
                "{name: c, files: ['x=']}",
                Some("the entry `x=` is not `PATH` or `KEY=PATH`".to_owned()),
            ),
            (
                "{name: c, files: ['=a.txt']}",
                Some("the entry `=a.txt` is not".to_owned()),
            ),
            (
                "{name: c, files: ['a=b=a.txt']}",
                Some("the entry `a=b=a.txt` is not".to_owned()),
            ),
            ("{name: c, files: [a.txt, k=a.txt]}", None),
            (
                "{name: c, files: [a.txt], literals: [a.txt=b]}",
                Some(format!("{kind} `c` has the key `a.txt` twice")),
            ),
            (
                "{name: c, literals: [a]}",
                Some("the literal `a` is not `KEY=VALUE`".to_owned()),
            ),
            (
                "{name: c, literals: ['=b']}",
                Some("the literal `=b` is not `KEY=VALUE`".to_owned()),
            ),
            (
                "{name: c, literals: ['']}",
                Some("the literal `` is not `KEY=VALUE`".to_owned()),
            ),
            ("{name: c, literals: ['a=']}", None),
            (
                "{name: c, literals: [a=b, a=c]}",
                Some(format!("{kind} `c` has the key `a` twice")),
            ),
            (
                "{name: c, envs: [twice.env]}",
                Some(format!("{kind} `c` has the key `A` twice")),
            ),
            (
                "{name: c, envs: [once.env], literals: [A=2]}",
                Some(format!("{kind} `c` has the key `A` twice")),
            ),
            ("{name: c, envs: [once.env]}", None),
        ] {
            let project =
                kustomization(&format!("resources: [pod.yaml]\n{field}: [{generator}]\n"));
            project.write("a.txt", "a\n");
            project.write("once.env", "A=1\n");
            project.write("twice.env", "A=1\nA=2\n");
            assert_refused(&project, message.as_deref());
        }
    }
}

#[test]
fn a_generator_changes_an_object_of_a_base_or_an_unknown_one() {
    let generator = "configMapGenerator: [{name: c, behavior: merge, literals: [a=b]}]";
    let base =
        "resources: [pod.yaml]\nnamePrefix: x-\nnamespace: shop\nconfigMapGenerator: [{name: c}]\n";
    let project = kustomization(base);
    project.write(
        "o/kustomization.yaml",
        format!("resources: [..]\n{generator}\n"),
    );
    let check = |project: &Project| {
        project
            .run(&["check"])
            .stdout
            .contains("requires ConfigMap")
    };
    assert!(!check(&project));
    let remote = "resources: [pod.yaml, 'https://example.com/base?ref=v1']\n";
    assert!(!check(&kustomization(&format!("{remote}{generator}\n"))));
}

#[test]
fn entries_of_settings_must_exist() {
    for field in [
        "generators",
        "transformers",
        "validators",
        "configurations",
        "crds",
    ] {
        let project = kustomization(&format!("resources: [pod.yaml]\n{field}: [gone.yaml]\n"));
        assert_refused(&project, Some("`gone.yaml` does not exist"));
    }
    for setting in [
        "replacements: [{path: gone.yaml}]",
        "openapi: {path: gone.yaml}",
    ] {
        let project = kustomization(&format!("resources: [pod.yaml]\n{setting}\n"));
        assert_refused(&project, Some("`gone.yaml` does not exist"));
    }
}

#[test]
fn a_variable_must_not_exist_twice() {
    let variable = "{name: V, objref: {apiVersion: v1, kind: Pod, name: web}}";
    let message = Some("the variable `V` exists twice");
    let once = format!("resources: [pod.yaml]\nvars: [{variable}]\n");
    assert_refused(&kustomization(&once), None);
    let twice = format!("resources: [pod.yaml]\nvars: [{variable}, {variable}]\n");
    assert_refused(&kustomization(&twice), message);
    let overlay = kustomization(&format!("resources: [base]\nvars: [{variable}]\n"));
    overlay.write("base/pod.yaml", PROBED);
    overlay.write("base/kustomization.yaml", &once);
    assert_refused(&overlay, message);
    let siblings = kustomization("resources: [a, b]\n");
    for base in ["a", "b"] {
        siblings.write(&format!("{base}/pod.yaml"), PROBED);
        siblings.write(
            &format!("{base}/kustomization.yaml"),
            format!("namePrefix: {base}-\n{once}"),
        );
    }
    assert_refused(&siblings, message);
}
