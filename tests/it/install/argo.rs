//! Installations with Argo CD.

use super::*;

#[test]
fn values_of_an_application_have_the_precedence_of_argo_cd() {
    let application = r"
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: istiod, namespace: argocd}
spec:
  sources:
  - repoURL: https://istio.example/charts
    chart: istiod
    targetRevision: 1.26.1
    helm:
      valueFiles: [$values/istio/base.yaml, $values/istio/prod.yaml, $values/istio/missing.yaml]
      values: |
        global: {proxy: {statusPort: 3, excludeInboundPorts: '3'}}
        revisionTags: [prod]
      parameters:
      - {name: global.proxy.statusPort, value: '4'}
      - {name: 'revisionTags[0]', value: stage}
      - {name: sidecarInjectorWebhook.rewriteAppHTTPProbe, value: 'false'}
  - {repoURL: https://git.example/config, targetRevision: main, ref: values}
";
    let base =
        "global: {proxy: {statusPort: 1, excludeInboundPorts: '1', includeInboundPorts: '1'}}\n";
    let prod = "global: {proxy: {statusPort: 2, includeInboundPorts: '2'}}\nrevision: canary\n";
    let files = [
        ("argo/app.yaml", application),
        ("istio/base.yaml", base),
        ("istio/prod.yaml", prod),
    ];
    let install = only(&files);
    assert_eq!(install.carrier, Carrier::Application);
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(
        value(install.proxy_status_port.as_ref()),
        Some(4),
        "parameters > values"
    );
    assert_eq!(
        value(install.exclude_inbound_ports.as_ref()).unwrap(),
        "3",
        "values > files"
    );
    assert_eq!(
        value(install.include_inbound_ports.as_ref()).unwrap(),
        "2",
        "the later file"
    );
    assert_eq!(value(install.rewrite.as_ref()), Some(false));
    assert_eq!(tags(&install), ["stage"]);
    assert_eq!(
        written(application, install.proxy_status_port.as_ref()),
        "'4'"
    );
    assert_eq!(
        written(application, install.exclude_inbound_ports.as_ref()),
        "values"
    );
    assert_eq!(written(prod, install.revision.as_ref()), "canary");
    assert_eq!(install.reads.len(), 2);
    let unread = install.unread.first().unwrap();
    assert_eq!(
        unread.message,
        "values come from `$values/istio/missing.yaml`, which is not in the tree"
    );
}

#[test]
fn values_object_replaces_values() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source:\n    chart: istiod\n    targetRevision: 1.26.1\n    helm:\n      valuesObject: {global: {proxy: {statusPort: 5}}}\n      values: |\n        global: {proxy: {statusPort: 3, excludeInboundPorts: '3'}}\n";
    let install = one(application);
    assert_eq!(value(install.proxy_status_port.as_ref()), Some(5));
    assert_eq!(
        install.exclude_inbound_ports, None,
        "Argo CD ignores `values` then"
    );
}

#[test]
fn an_optional_file_is_ignored_only_if_its_source_is_in_the_run() {
    let unread = |source: &str, file: &str| {
        let application = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a}}\nspec:\n  sources:\n  - {{repoURL: \
             https://git.example/config, {source}, targetRevision: 1.26.1, helm: {{ignoreMissingValueFiles: true, \
             valueFiles: ['{file}']}}}}\n  - {{repoURL: https://git.example/config, ref: values}}\n"
        );
        let files = [
            ("app.yaml", &*application),
            (
                "charts/istiod/Chart.yaml",
                "name: istiod\nversion: 1.26.1\n",
            ),
        ];
        installs(&files).first().unwrap().unread.len()
    };
    let (registry, folder) = ("chart: istiod", "path: charts/istiod");
    for (source, file, expected) in [
        (folder, "values-prod.yaml", 0),
        (folder, "$values/istio/prod.yaml", 0),
        (folder, "$other/istio/prod.yaml", 1),
        (folder, "$values/{{env}}/prod.yaml", 1),
        (folder, "https://values.example/prod.yaml", 1),
        (registry, "$values/istio/prod.yaml", 1),
        (registry, "values-prod.yaml", 1),
    ] {
        assert_eq!(unread(source, file), expected, "{source} {file}");
    }
}

#[test]
fn an_application_with_a_folder_of_the_tree() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source:\n    repoURL: https://git.example/config\n    path: charts/mesh\n    targetRevision: main\n    helm: {valueFiles: [values-prod.yaml]}\n";
    let chart = "name: mesh\ndependencies: [{name: istiod, version: 1.26.0}, {name: cni, version: 1.26.0}]\n";
    let prod = "istiod: {revision: canary}\ncni: {ambient: {enabled: true}}\n";
    let files = [
        ("app.yaml", application),
        ("charts/mesh/Chart.yaml", chart),
        ("charts/mesh/values-prod.yaml", prod),
    ];
    let found: Vec<_> = installs(&files)
        .into_iter()
        .filter(|application| application.carrier == Carrier::Application)
        .collect();
    let parts: Vec<_> = found.iter().map(|install| &install.part).collect();
    assert_eq!(parts, [&Part::ControlPlane, &Part::Cluster]);
    assert_eq!(found.first().unwrap().revision_name(), "canary");
    let cluster = found.get(1).unwrap();
    assert_eq!(value(cluster.ambient.as_ref()), Some(true));
    assert_eq!(cluster.cni.as_ref().unwrap().certainty, Certainty::Assumed);
}

#[test]
fn an_application_set_with_a_list_is_expanded() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n  generators:\n  - list:\n      elements:\n      - {version: 1.26.5, revision: 1-26-5}\n      - {version: 1.27.3, revision: 1-27-3}\n  template:\n    spec:\n      sources:\n      - chart: istiod\n        targetRevision: '{{version}}'\n        helm: {valuesObject: {revision: '{{ .revision }}'}}\n";
    let found = installs(&[("set.yaml", set)]);
    let names: Vec<_> = found.iter().map(Install::revision_name).collect();
    assert_eq!(names, ["1-26-5", "1-27-3"]);
    let versions: Vec<_> = found
        .iter()
        .map(|install| value(install.version.as_ref()).unwrap())
        .collect();
    assert_eq!(versions, [V1_26, Version::new(1, 27)]);

    let git = set
        .replace("list:", "git:")
        .replace("elements:", "directories:");
    let install = one(&git);
    assert_eq!(install.version, None);
    assert!(install.more_names.is_some());
}

#[test]
fn the_strings_of_an_application_set_are_templates() {
    let set = |helm: &str, more: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: a}}\nspec:\n  goTemplate: \
             true\n  generators: [{{list: {{elements: [{{name: istiod}}]}}}}]\n  template:\n    spec:\n      source:\n        \
             chart: istiod\n        targetRevision: 1.26.1\n        helm:\n{helm}{more}"
        )
    };
    let indent = |text: &str| {
        format!(
            "          values: |\n            {}\n",
            text.replace('\n', "\n            ")
        )
    };
    let injector = "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}";
    let control = format!("{{{{- if eq .name \"istiod\" }}}}\n{injector}\n{{{{- end }}}}");
    let unread = |text: &str| {
        let install = one(text);
        assert_eq!(install.broken().count(), 0, "{text}");
        assert_eq!(value(install.version.as_ref()), Some(V1_26));
        install.unread
    };
    for (text, message) in [
        (
            set(&indent(&control), ""),
            "the ApplicationSet fills in a template in the values",
        ),
        (
            set(&indent("{{ toYaml .values }}\na: b"), ""),
            "the ApplicationSet fills in a template in the values",
        ),
        (
            set(
                "          valuesObject: {global: {'{{ .key }}': {statusPort: 1}}}\n",
                "",
            ),
            "the ApplicationSet fills in a template in the values",
        ),
        (
            set(
                &indent(injector),
                "  templatePatch: |\n    {{- if .a }}\n    spec: {}\n    {{- end }}\n",
            ),
            "`templatePatch` may change the values",
        ),
    ] {
        let found = unread(&text);
        assert_eq!(found.first().unwrap().message, message, "{text}");
    }
    // What is filled in, or only a value, is read.
    for text in [
        indent(
            "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\nglobal: {tag: '{{ .name }}'}",
        ),
        indent(
            "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\nglobal: {tag: '{{ .other }}'}",
        ),
    ] {
        let install = one(&set(&text, ""));
        assert!(install.unread.is_empty(), "{text}");
        assert_eq!(value(install.rewrite.as_ref()), Some(false));
    }
    let bare = indent("sidecarInjectorWebhook:\n  rewriteAppHTTPProbe: {{ .rewrite }}");
    let rewrite = one(&set(&bare, "")).rewrite.unwrap();
    assert_eq!(
        (rewrite.value, rewrite.certainty),
        (true, Certainty::Assumed)
    );
    // An Application is not a template.
    let application =
        set(&indent(&control), "").replace("kind: ApplicationSet", "kind: Application");
    let application = application.replace("  template:\n    spec:\n      source:\n        chart: istiod\n        targetRevision: 1.26.1\n        helm:\n          values", "  source:\n    chart: istiod\n    targetRevision: 1.26.1\n    helm:\n          values");
    assert_eq!(one(&application).broken().count(), 1, "{application}");
}
