//! Installations with Helm values: files, Flux, charts of the tree.

use super::*;

const VALUES: &str = "global:\n  istioNamespace: istio-system\n  tag: 1.26.3\npilot:\n  cni: {enabled: true}\n  env: {ENABLE_NATIVE_SIDECARS: auto}\n";

#[test]
fn values_of_istiod_are_recognized_by_two_keys() {
    let install = only(&[("values.yaml", VALUES)]);
    assert_eq!(install.carrier, Carrier::HelmValues);
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(
        value(install.root_namespace.as_ref()).unwrap(),
        "istio-system"
    );
    assert_eq!(value(install.cni.as_ref()), Some(true));
    assert_eq!(
        value(install.native_sidecars.as_ref()),
        Some(NativeSidecars::Auto)
    );
    assert_eq!(
        install.rewrite, None,
        "absent in a values file is not false"
    );
    assert_eq!(installs(&[("values.yaml", "pilot: {}\nreplicas: 1\n")]), []);
    assert_eq!(installs(&[("values.yaml", "- pilot\n- meshConfig\n")]), []);
}

#[test]
fn values_of_a_dependency_are_read_from_its_name_or_alias() {
    let chart = "apiVersion: v2\nname: mesh\ndependencies:\n- {name: base, version: 1.26.1, repository: 'https://istio.example/charts'}\n- name: istiod\n  alias: control\n  version: 1.26.1\n  repository: https://istio.example/charts\n";
    let values = "global: {proxy: {statusPort: 15666}}\ncontrol:\n  revision: canary\n  global: {proxy: {statusPort: 1}, istioNamespace: mesh}\n";
    let install = only(&[("mesh/Chart.yaml", chart), ("mesh/values.yaml", values)]);
    assert_eq!(install.part, Part::ControlPlane);
    assert_eq!(install.revision_name(), "canary");
    let port = install.proxy_status_port.as_ref();
    assert_eq!(
        value(port),
        Some(15666),
        "the globals of the parent take precedence"
    );
    assert_eq!(value(install.root_namespace.as_ref()).unwrap(), "mesh");
    assert_eq!(written(chart, install.version.as_ref()), "1.26.1");
    assert_eq!(written(values, install.revision.as_ref()), "canary");
    let elsewhere = [("mesh/Chart.yaml", chart), ("other/values.yaml", values)];
    assert_eq!(installs(&elsewhere), []);
}

#[test]
fn the_values_of_a_copied_chart_are_defaults() {
    let chart = "apiVersion: v2\nname: istiod\nversion: 1.26.2\nappVersion: 1.26.2\n";
    let values = "revision: canary\n_internal_defaults_do_not_set:\n  revision: ''\n  sidecarInjectorWebhook: {rewriteAppHTTPProbe: true}\n";
    let install = only(&[("istiod/Chart.yaml", chart), ("istiod/values.yaml", values)]);
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(value(install.rewrite.as_ref()), Some(true));
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
}

fn helm_release(rest: &str) -> String {
    let head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: istiod, namespace: istio-system}\nspec:\n";
    let chart = "  chart: {spec: {chart: istiod, version: 1.26.x, sourceRef: {kind: HelmRepository, name: istio}}}\n";
    format!("{head}{chart}{rest}")
}

#[test]
fn a_helm_release_of_flux_is_an_installation() {
    let text =
        helm_release("  values:\n    sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n");
    let install = one(&text);
    assert_eq!(install.carrier, Carrier::HelmRelease);
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(written(&text, install.version.as_ref()), "1.26.x");
    assert_eq!(value(install.rewrite.as_ref()), Some(false));
    assert_eq!(install.unread, []);
    let other = text.replace("chart: istiod", "chart: podinfo");
    assert_eq!(installs(&[("a.yaml", &other)]), []);
}

#[test]
fn a_range_of_chart_versions_is_assumed_at_its_lower_end() {
    let text = helm_release("").replace("1.26.x", "'>=1.26.0 <1.29.0'");
    let version = one(&text).version.unwrap();
    assert_eq!(
        (version.value, version.certainty),
        (V1_26, Certainty::Assumed)
    );
}

#[test]
fn values_from_config_maps_are_followed() {
    let release = helm_release(
        "  valuesFrom:\n  - {kind: ConfigMap, name: first}\n  - {kind: ConfigMap, name: second, valuesKey: mesh.yaml}\n  - {kind: ConfigMap, name: single, valuesKey: rev, targetPath: revision}\n  - {kind: Secret, name: hidden}\n  - {kind: ConfigMap, name: missing}\n  values: {global: {proxy: {excludeInboundPorts: '1'}}}\n",
    );
    let maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: istio-system}\ndata:\n  values.yaml: |\n    global: {proxy: {statusPort: 1, excludeInboundPorts: '2', includeInboundPorts: '3'}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\ndata:\n  mesh.yaml: |\n    global: {proxy: {statusPort: 2}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: single}\ndata: {rev: canary}\n";
    let install = only(&[("release.yaml", &release), ("maps.yaml", maps)]);
    assert_eq!(
        value(install.exclude_inbound_ports.as_ref()).unwrap(),
        "1",
        "inline values take precedence"
    );
    assert_eq!(
        value(install.proxy_status_port.as_ref()),
        Some(2),
        "the later source takes precedence"
    );
    assert_eq!(value(install.include_inbound_ports.as_ref()).unwrap(), "3");
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(
        written(maps, install.proxy_status_port.as_ref()),
        "mesh.yaml"
    );
    assert_eq!(written(maps, install.revision.as_ref()), "canary");
    let unread: Vec<_> = install
        .unread
        .iter()
        .map(|why| why.message.as_str())
        .collect();
    assert_eq!(
        unread,
        [
            "values come from Secret `hidden`, which is not in the tree",
            "values come from ConfigMap `missing`, which is not in the tree"
        ]
    );
}

#[test]
fn charts_of_an_oci_repository_are_followed() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: flux}\nspec:\n  chartRef: {kind: OCIRepository, name: control}\n  values: {revision: canary}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: control, namespace: flux}\nspec: {url: 'oci://registry.example/charts/istiod', ref: {tag: 1.26.2}}\n";
    let install = one(release);
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(written(release, install.version.as_ref()), "1.26.2");
}

#[test]
fn a_chart_in_the_tree_is_followed() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh}\nspec:\n  chart: {spec: {chart: ./charts/mesh, sourceRef: {kind: GitRepository, name: repo}}}\n  values: {istiod: {revision: canary}}\n";
    let chart = "name: mesh\ndependencies: [{name: istiod, version: 1.26.0}]\n";
    let values = "istiod: {revision: overruled, pilot: {cni: {enabled: true}}}\n";
    let files = [
        ("apps/release.yaml", release),
        ("charts/mesh/Chart.yaml", chart),
        ("charts/mesh/values.yaml", values),
    ];
    let found = installs(&files);
    let install = found.first().unwrap();
    assert_eq!(install.carrier, Carrier::HelmRelease);
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(value(install.cni.as_ref()), Some(true));
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(
        install.reads.len(),
        1,
        "the values file is not a separate installation"
    );
}

#[test]
fn a_chart_named_base_may_belong_to_another_project() {
    let text = helm_release("").replace("chart: istiod", "chart: base");
    assert_eq!(one(&text).part, Part::Cluster);
    let other = text
        .replace("istiod", "shop")
        .replace("istio-system", "shop");
    let other = other.replace("name: istio}", "name: shop}");
    assert_eq!(installs(&[("a.yaml", &other)]), []);
}

#[test]
fn a_chart_of_k3s_is_read_with_its_config() {
    let chart = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: istiod, namespace: kube-system}\nspec:\n  repo: https://istio.example/charts\n  chart: istiod\n  version: 1.26.1\n  targetNamespace: istio-system\n  set: {global.proxy.statusPort: '4'}\n  valuesContent: |\n    global: {proxy: {statusPort: 1, includeInboundPorts: '1', excludeInboundPorts: '1'}}\n    sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n";
    let install = one(chart);
    assert_eq!(install.carrier, Carrier::HelmChart);
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(value(install.rewrite.as_ref()), Some(false));
    assert_eq!(written(chart, install.rewrite.as_ref()), "valuesContent");
    assert_eq!(value(install.proxy_status_port.as_ref()), Some(4));
    let config = "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nmetadata: {name: istiod, namespace: kube-system}\nspec:\n  valuesSecrets: [{name: a}]\n  valuesContent: |\n    global: {proxy: {includeInboundPorts: '2'}}\n";
    let install = only(&[("config.yaml", config), ("istio.yaml", chart)]);
    assert_eq!(value(install.include_inbound_ports.as_ref()).unwrap(), "2");
    assert_eq!(value(install.exclude_inbound_ports.as_ref()).unwrap(), "1");
    assert_eq!(
        install.unread.first().unwrap().message,
        "values come from Secrets, which are not read"
    );
    let broken = chart.replace("    global: {proxy", "    global: {{proxy: [");
    assert_eq!(one(&broken).broken().count(), 1);
    for other in [
        chart.replace("chart: istiod", "chart: traefik"),
        chart.replace("chart: istiod", "chartContent: H4sI\n  chart: istiod"),
    ] {
        assert!(installs(&[("istio.yaml", &other)]).is_empty(), "{other}");
    }
}

#[test]
fn a_chart_with_the_url_of_a_repository_is_not_a_folder() {
    let release = "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {name: istiod, namespace: istio-system}\nspec:\n  chart: {repository: 'https://istio.example/charts', name: istiod, version: 1.20.0}\n";
    let values = "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n";
    let files = [
        ("apps/release.yaml", release),
        (
            "charts/istiod/Chart.yaml",
            "name: istiod\nversion: 1.26.2\n",
        ),
        ("charts/istiod/values.yaml", values),
    ];
    let found = installs(&files);
    let install = found.first().unwrap();
    assert_eq!(install.carrier, Carrier::HelmRelease);
    assert_eq!(value(install.version.as_ref()), Some(Version::new(1, 20)));
    assert_eq!(install.rewrite, None);
}

#[test]
fn the_values_files_of_flux_replace_those_of_the_chart() {
    let release = |kind: &str, files: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: mesh}}\nspec:\n  chart: {{spec: \
             {{chart: istiod, sourceRef: {{kind: {kind}, name: repo}}, valuesFiles: [{files}]}}}}\n"
        )
    };
    let found = |release: &str| {
        let files = [
            ("apps/release.yaml", release),
            ("istiod/Chart.yaml", "name: istiod\nversion: 1.26.2\n"),
            (
                "istiod/values.yaml",
                "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n",
            ),
            ("istiod/prod.yaml", "revision: canary\n"),
        ];
        installs(&files).into_iter().next().unwrap()
    };
    let install = found(&release("GitRepository", "istiod/prod.yaml"));
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(install.rewrite, None);
    assert_eq!(install.reads.len(), 2, "neither is a separate installation");
    let both = "istiod/values.yaml, istiod/prod.yaml";
    let install = found(&release("GitRepository", both));
    assert_eq!(value(install.rewrite.as_ref()), Some(false));
    let install = found(&release("HelmRepository", "istiod/prod.yaml"));
    let unread = install.unread.first().unwrap();
    assert_eq!(
        unread.message,
        "values come from `istiod/prod.yaml`, which is not in the tree"
    );
}

#[test]
fn settings_that_are_not_evaluated_make_values_unknown() {
    let release = helm_release("  postRenderers: [{kustomize: {patches: []}}]\n");
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source:\n    chart: istiod\n    targetRevision: 1.26.1\n    helm: {fileParameters: [{name: revision, path: files/revision}]}\n";
    for (text, expected) in [
        (&*release, "`postRenderers` are not supported"),
        (application, "`fileParameters` is not supported"),
    ] {
        let install = one(text);
        let unread = install.unread.first().unwrap();
        assert_eq!(unread.message, expected);
    }
    let empty = helm_release("  postRenderers: []\n");
    assert_eq!(one(&empty).unread, []);
}

#[test]
fn a_chart_reference_of_flux_is_not_a_chart_of_k3s() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: flux}\nspec:\n  chartRef: {kind: HelmChart, name: control}\n";
    let flux = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: control, namespace: flux}\nspec: {chart: istiod, version: 1.26.2, sourceRef: {kind: HelmRepository, name: istio}}\n";
    let k3s = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: control, namespace: flux}\nspec: {chart: traefik, version: 1.0.0}\n";
    let files = [
        ("apps/k3s.yaml", k3s),
        ("apps/release.yaml", release),
        ("flux/chart.yaml", flux),
    ];
    let install = only(&files);
    assert_eq!(install.carrier, Carrier::HelmRelease);
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
}
