//! Parts of charts, kustomizations and pods that are not judged, next to parts that are.

use serde_json::Value;

use super::fixes::WEB;
use crate::support::project::Project;

fn check(project: &Project, paths: &[&str]) -> Value {
    let mut all = vec!["check", "--output-format", "json"];
    all.extend(paths);
    serde_json::from_str(&project.run(&all).stdout).unwrap()
}

fn texts(report: &Value, list: &str, keys: [&str; 2]) -> Vec<String> {
    let found = report[list].as_array().unwrap().iter();
    let text = |found: &Value, key: &str| found[key].as_str().unwrap_or_default().to_owned();
    found
        .map(|found| keys.map(|key| text(found, key)).join(": "))
        .collect()
}

fn not_judged(report: &Value) -> Vec<String> {
    texts(report, "not_judged", ["message", "help"])
}

#[test]
fn a_chart_that_a_release_deploys_is_judged_with_the_values_of_the_release() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\n\
                   spec:\n  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: main}}}\n";
    let project = Project::with(&[
        (".git/HEAD", ""),
        (
            "charts/web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        ),
        (
            "charts/web/templates/web.yaml",
            "kind: Pod\nname: {{ .Release.Name }}\n",
        ),
        ("apps/web.yaml", release),
    ]);
    let report = check(&project, &["charts"]);
    let command = "`meshprobe check --helm auto charts/web`";
    assert_eq!(
        not_judged(&report),
        [format!(
            "the chart in `charts/web`, which HelmRelease/web deploys, is not rendered: {command}"
        )]
    );
    assert_eq!(
        report["findings"][0]["help"],
        format!("render it as it is deployed: {command}")
    );
    // A values file that is missing is named, and the chart is not rendered without it.
    let unknown = format!("{release}  valuesFrom: [{{kind: ConfigMap, name: gone}}]\n");
    project.write("apps/web.yaml", &unknown);
    let found = not_judged(&check(&project, &["charts"]));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].contains("gone") && found[0].contains("render it as it is deployed"),
        "{found:?}"
    );
}

#[test]
fn what_a_kustomization_adds_next_to_judged_workloads_is_named() {
    let project = Project::with(&[
        ("app/web.yaml", WEB),
        (
            "app/kustomization.yaml",
            "resources: [web.yaml, 'https://git.example/base?ref=v1', ../common/bse]\nhelmCharts: [{name: redis}]\n",
        ),
        ("common/base/kustomization.yaml", "resources: [n.yaml]\n"),
        (
            "common/base/n.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n",
        ),
    ]);
    let report = check(&project, &[]);
    let found = not_judged(&report);
    assert_eq!(
        found
            .iter()
            .filter(|found| found.contains("kustomize build"))
            .collect::<Vec<_>>(),
        [
            "a part of `app/kustomization.yaml` is not among the files: `https://git.example/base?ref=v1` is remote \
             and not fetched; `../common/bse` does not exist; `helmCharts` is not modelled: check the output of the \
             build: `kustomize build --enable-helm app | meshprobe check --context . -`"
        ],
        "{found:?}"
    );
    let warnings = report["findings"].as_array().unwrap().iter();
    let mut warnings: Vec<_> = warnings
        .filter(|finding| finding["rule"] == "kustomization-not-modelled")
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap().to_owned();
            (text("severity"), text("message"), text("help"))
        })
        .collect();
    warnings.sort_by(|a, b| b.cmp(a));
    assert_eq!(warnings[0].0, "warning", "{warnings:?}");
    assert_eq!(
        warnings[0].1,
        "`../common/bse` does not exist: kustomize refuses to build it"
    );
    assert_eq!(warnings[0].2, "correct the path, or remove the entry");
    assert!(
        warnings.len() == 2 && warnings[1].0 == "note",
        "{warnings:?}"
    );
}

#[test]
fn the_timing_of_a_probe_that_an_operator_completes_is_named() {
    let collector = |id: &str, probe: &str| {
        format!(
            "{id}\nmetadata: {{name: c, namespace: shop}}\nspec: {{image: otel, livenessProbe: {probe}}}\n"
        )
    };
    let unknown = "apiVersion: example.com/v1\nkind: Collector";
    // A kind whose operator always generates pods.
    let known = "apiVersion: opentelemetry.io/v1beta1\nkind: OpenTelemetryCollector";
    let project = Project::new();
    for (probe, count) in [
        ("{initialDelaySeconds: 15}", 1),
        ("{httpGet: {port: 80}}", 1),
        // No request that a mesh could affect.
        ("{exec: {command: [a]}, initialDelaySeconds: 15}", 0),
        // A schema.
        ("{type: object}", 0),
    ] {
        for (id, count) in [(unknown, count), (known, 1)] {
            project.write("c.yaml", collector(id, probe));
            let found = not_judged(&check(&project, &[]));
            assert_eq!(found.len(), count, "{id}: {probe}: {found:?}");
        }
    }
}

/// A part of a base that several overlays include is reported once, with the names of these overlays.
#[test]
fn a_part_that_several_kustomizations_include_is_reported_once() {
    let project = Project::with(&[
        (
            "base/kustomization.yaml",
            "resources: [web.yaml]\ngenerators: [generator.yaml]\n",
        ),
        ("base/web.yaml", WEB),
        (
            "base/generator.yaml",
            "apiVersion: example.com/v1\nkind: Generator\nmetadata: {name: x}\n",
        ),
        (
            "a/kustomization.yaml",
            "resources: [../base]\nnamePrefix: a-\n",
        ),
        (
            "b/kustomization.yaml",
            "resources: [../base]\nnamePrefix: b-\ntransformers: [../base/generator.yaml]\n",
        ),
    ]);
    let messages = |report: &Value| {
        let found = texts(report, "findings", ["rule", "message"]).into_iter();
        let found = found.filter(|found| found.starts_with("kustomization-not-modelled"));
        found.collect::<Vec<_>>()
    };
    let start = "kustomization-not-modelled: `generators` is not modelled: the objects that it generates are unknown";
    let both = format!("{start} (in `a/kustomization.yaml`; `b/kustomization.yaml`, with 1 more)");
    for path in [".", "a", "b"] {
        assert_eq!(
            messages(&check(&project, &[path])),
            [both.as_str()],
            "{path}"
        );
    }
}
