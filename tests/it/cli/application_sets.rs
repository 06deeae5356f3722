//! Applications that an ApplicationSet generates from files and folders of the tree.

use serde_json::Value;

use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT};
use crate::support::project::Project;

/// Returns a set with a generator, and a template with a name and a source.
fn set(generator: &str, name: &str, source: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: apps, namespace: argocd}}\nspec:\n  \
         goTemplate: true\n  generators: [{generator}]\n  template:\n    metadata: {{name: '{name}'}}\n    spec:\n      \
         source: {{repoURL: https://example.com/fleet, {source}}}\n      destination: {{server: \
         https://kubernetes.default.svc, namespace: shop}}\n"
    )
}

fn files(list: &str) -> String {
    format!("{{git: {{repoURL: https://example.com/fleet, files: {list}}}}}")
}

fn project(set: &str) -> Project {
    let pod = NOT_REWRITTEN.replace("  namespace: shop\n", "");
    Project::with(&[
        ("mesh/namespace.yaml", INJECTED),
        ("mesh/strict.yaml", STRICT),
        ("apps/web/pod.yaml", &pod),
        ("argo/set.yaml", set),
    ])
}

#[test]
fn files_of_the_tree_fill_in_the_template() {
    let path = "path: 'apps/{{.app.name}}'";
    let nested = files("[{path: 'config/**/app.json'}]");
    for (file, text, generator, path) in [
        (
            "config/prod/eu/app.json",
            "{\"app\": {\"name\": \"web\"}}",
            nested.clone(),
            path,
        ),
        (
            "config/prod/app.json",
            "[{\"app\": {\"name\": \"web\"}}]",
            nested,
            path,
        ),
        (
            "config/a.yaml",
            "app:\n  name: web\n",
            files("[{path: config/*.yaml}]"),
            path,
        ),
        (
            "config/web.yaml",
            "list: [x, web]\n",
            files("[{path: config/*.yaml}, {path: config/old.yaml, exclude: true}]"),
            "path: 'apps/{{index .list 1}}{{ .list.1 }}'",
        ),
        (
            "config/web/x.json",
            "{}",
            files("[{path: config/*/x.json}], pathParamPrefix: cfg"),
            "path: 'apps/{{.cfg.path.basename}}'",
        ),
        (
            "config/web/x.json",
            "{}",
            files("[{path: config/*/x.json}], values: {folder: 'apps/{{.path.basename}}'}"),
            "path: '{{.values.folder}}'",
        ),
    ] {
        let path = path.replace("{{index .list 1}}", "");
        let project = project(&set(&generator, "web", &path));
        project.write(file, text);
        let output = project.run(&["check"]);
        assert!(
            output.stdout.contains("strict-probe-not-rewritten"),
            "{file}: {}",
            output.stdout
        );
        output.exits(1);
    }
}

#[test]
fn a_generator_that_is_not_evaluated_is_named() {
    let remote = "{git: {repoURL: https://example.com/other, files: [{path: '*.json'}]}}";
    for (generator, named) in [
        ("{clusters: {}}", "`clusters`"),
        (remote, "`git`"),
        (
            "{git: {repoURL: https://example.com/fleet, files: [{path: 'none/*.json'}]}}",
            "`git`",
        ),
        (
            "{merge: {mergeKeys: [a], generators: [{clusters: {}}]}}",
            "`merge`",
        ),
    ] {
        let project = project(&set(generator, "{{.name}}", "path: 'apps/{{.name}}'"));
        project.write("apps/deploy.yaml", application());
        let text = project.run(&["check", "--output-format=json"]).stdout;
        let report: Value = serde_json::from_str(&text).unwrap();
        let parts = report["not_judged"].as_array().unwrap();
        let mut messages = parts.iter().map(|part| part["message"].to_string());
        let message = format!("which the generator {named} of the ApplicationSet fills in");
        assert!(messages.any(|text| text.contains(&message)), "{text}");
        assert!(!text.contains("another tool"), "{text}");
    }
}

/// Returns an Application by which the tree is known to be the repository of the sets.
fn application() -> String {
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: own}\nspec:\n  source: {repoURL: \
     https://example.com/fleet, path: apps}\n"
        .to_owned()
}

#[test]
fn no_command_contains_a_placeholder() {
    let chart =
        "path: chart, helm: {releaseName: '{{.name}}', valueFiles: ['values-{{.env}}.yaml']}";
    let project = project(&set("{clusters: {}}", "{{.name}}", chart));
    project.write(
        "chart/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    );
    project.write("chart/templates/pod.yaml", "kind: {{ .Values.kind }}\n");
    project.write(
        "flux/release.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: '${NS}'}\nspec: \
         {chart: {spec: {chart: web, version: '${V}', sourceRef: {kind: HelmRepository, name: r}}}}\n---\n\
         apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r, namespace: '${NS}'}\nspec: \
         {url: 'https://example.com/${V}'}\n",
    );
    for format in ["full", "json"] {
        let option = format!("--output-format={format}");
        let text = project.run(&["check", &option]).stdout;
        let quoted = text.split('`').skip(1).step_by(2);
        for command in quoted.filter(|quoted| quoted.contains("meshprobe check")) {
            assert!(!command.contains("{{") && !command.contains("${"), "{text}");
        }
        let help = "render it as it is deployed, and pipe the rendering";
        assert!(text.contains(help), "{text}");
    }
}

/// Argo CD fills in the text of a patch before kustomize parses it.
#[test]
fn a_patch_that_is_a_template_is_not_parsed() {
    let list = "{list: {elements: [{name: web, old: '80'}]}}";
    let source = |patch: &str| {
        set(list, "{{.name}}", "path: apps/web").replace(
            "path: apps/web}",
            &format!(
                "path: apps/web, kustomize: {{namePrefix: '{{{{if .a}}}}x-{{{{end}}}}', patches: [{{target: {{kind: Pod}}, patch: {patch:?}}}]}}}}"
            ),
        )
    };
    for patch in [
        "{{- if .old }}\n- op: remove\n  path: /spec/hostname\n{{- end }}",
        "- op: add\n  path: /spec/containers/0/livenessProbe/tcpSocket/port\n  value: {{ .port }}\n",
        "[{\"op\": \"add\", \"path\": \"/spec/hostname\", \"value\": {{ .port }}}]",
    ] {
        let project = project(&source(patch));
        project.write("apps/web/kustomization.yaml", "resources: [pod.yaml]\n");
        let run = project.run(&["check"]);
        let output = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = "note[kustomization-not-modelled]: the patch cannot be read: it is a template that the ApplicationSet fills in";
        assert!(output.contains(message), "{output}");
        assert!(!output.contains("refuses"), "{output}");
    }
    let filled = "- op: add\n  path: /spec/hostname\n  value: {{ .name }}\n";
    let project = project(&source(filled));
    project.write("apps/web/kustomization.yaml", "resources: [pod.yaml]\n");
    let run = project.run(&["check"]);
    assert!(
        !run.stdout.contains("the patch cannot be read"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_selector_selects_applications() {
    for (selector, is_deployed) in [
        ("", true),
        ("selector: {matchLabels: {env: prod}}", true),
        ("selector: {matchLabels: {env: lab}}", false),
        (
            "selector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}",
            false,
        ),
        ("selector: {matchLabels: {region: eu}}", false),
    ] {
        let list = format!("{{list: {{elements: [{{name: web, env: prod}}]}}, {selector}}}");
        let nested =
            format!("{{matrix: {{generators: [{list}, {{list: {{elements: [{{a: b}}]}}}}]}}}}");
        let outer = format!(
            "{{matrix: {{generators: [{{list: {{elements: [{{name: web}}]}}}}, {{list: {{elements: [{{env: prod}}]}}}}]}}, {selector}}}"
        );
        for generator in [list, nested, outer] {
            let project = project(&set(&generator, "x-{{.name}}", "path: 'apps/{{.name}}'"));
            let out = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
            assert_eq!(
                out.contains("[strict-probe-not-rewritten]"),
                is_deployed,
                "{generator}: {out}"
            );
        }
    }
}
