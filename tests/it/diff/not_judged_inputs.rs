//! What a part that is not judged reads never changes silently.

use serde_json::Value;

use super::{changes, report, trees};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN};

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

type Files<'f> = Vec<(&'f str, &'f str)>;

const JUDGED: [(&str, &str); 2] = [("apps/ns.yaml", INJECTED), ("apps/web.yaml", NOT_REWRITTEN)];

/// Returns the files of the parts that are listed as changed and not judged.
#[track_caller]
fn listed(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let (before, after) = (
        [&JUDGED[..], before].concat(),
        [&JUDGED[..], after].concat(),
    );
    let project = trees(&before, &after);
    let run = project.run(&JSON);
    assert_eq!(changes(&run), [""; 0]);
    let parts = report(&run);
    let parts = parts
        .pointer("/changed_not_judged")
        .unwrap()
        .as_array()
        .unwrap();
    let path = |part: &Value| part.get("path").unwrap().as_str().unwrap().to_owned();
    let parts: Vec<String> = parts.iter().map(path).collect();
    // The gate for those who want it.
    let fails = i32::from(!parts.is_empty());
    for (level, code) in [
        ("not-judged", fails),
        ("never,not-judged", fails),
        ("any", fails),
        ("removed", 0),
        ("never", 0),
    ] {
        let options = ["diff", "--fail-on", level, "before", "after"];
        let run = project.run(&options).exits(code);
        let names_it = run.stderr.contains("which `--fail-on` does not allow");
        assert_eq!(names_it, code == 1, "{level}: {}", run.stderr);
    }
    parts
}

/// Checks that a part in a file is listed if one of the other files differs, and not if an unrelated one does.
#[track_caller]
fn assert_reads(part: &str, files: &[(&str, &str)], read: &str, unrelated: &str) {
    let with = |path: &str| -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let changed = files.iter_mut().find(|file| file.0 == path);
        let (_, text) = changed.unwrap_or_else(|| panic!("{path}"));
        *text = text.replace("old", "new");
        files
    };
    let changed = |path: &str| {
        let files_after = with(path);
        let after: Files<'_> = files_after
            .iter()
            .map(|(path, text)| (&**path, &**text))
            .collect();
        assert_ne!(files, after, "{path}");
        listed(files, &after)
    };
    assert_eq!(changed(read), [format!("after/{part}")], "{read}");
    if !unrelated.is_empty() {
        assert_eq!(changed(unrelated), [""; 0], "{unrelated}");
    }
}

#[test]
fn files_of_a_kustomization_with_a_remote_base() {
    let kustomization = "namespace: shop\nresources:\n- https://example.com/team/web//deploy\n- config.yaml\npatches:\n- path: patch.yaml\nconfigMapGenerator:\n- name: env\n  files: [settings=env.txt]\n";
    let patch =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, annotations: {a: old}}\n";
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n";
    let files = [
        ("remote/kustomization.yaml", kustomization),
        ("remote/patch.yaml", patch),
        ("remote/env.txt", "old\n"),
        ("remote/config.yaml", config),
    ];
    assert_reads(
        "remote/kustomization.yaml",
        &files,
        "remote/patch.yaml",
        "remote/config.yaml",
    );
    let overlay = "resources:\n- ../remote\npatches:\n- path: other.yaml\n";
    let above = [
        &files[..],
        &[
            ("prod/kustomization.yaml", overlay),
            ("prod/other.yaml", patch),
        ],
    ]
    .concat();
    for read in ["prod/other.yaml", "remote/patch.yaml"] {
        assert_reads(
            "prod/kustomization.yaml",
            &above,
            read,
            "remote/config.yaml",
        );
    }
}

#[test]
fn values_files_of_charts_in_a_kustomization() {
    let kustomization = "helmCharts:\n- name: web\n  repo: https://charts.example.com\n  version: 1.0.0\n  releaseName: web\n  valuesFile: values.yaml\n  additionalValuesFiles: [more/prod.yaml]\n";
    let files = [
        ("chart/kustomization.yaml", kustomization),
        ("chart/values.yaml", "a: old\n"),
        ("chart/more/prod.yaml", "a: old\n"),
        ("chart/more/test.yaml", "a: old\n"),
    ];
    for read in ["chart/values.yaml", "chart/more/prod.yaml"] {
        assert_reads(
            "chart/kustomization.yaml",
            &files,
            read,
            "chart/more/test.yaml",
        );
    }
}

#[test]
fn values_files_of_a_generator() {
    let generator = "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: web}\nname: web\nrepo: https://charts.example.com\nversion: 1.0.0\nreleaseName: web\nvaluesFile: values.yaml\n";
    let files = [
        ("chart/kustomization.yaml", "generators: [web.yaml]\n"),
        ("chart/web.yaml", generator),
        ("chart/values.yaml", "a: old\n"),
        ("chart/test.yaml", "a: old\n"),
    ];
    assert_reads(
        "chart/kustomization.yaml",
        &files,
        "chart/values.yaml",
        "chart/test.yaml",
    );
}

const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: api, namespace: shop}\nspec:\n  chart: {spec: {chart: api, version: 1.0.0, sourceRef: {kind: HelmRepository, name: team}}}\n  valuesFrom: [{kind: ConfigMap, name: api-values}]\n  values: {a: old}\n";

#[test]
fn values_of_a_release() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: api-values, namespace: shop}\ndata: {values.yaml: 'a: old'}\n";
    let other = config.replace("api-values", "other");
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: team, namespace: shop}\nspec: {url: https://old.example.com}\n";
    let files = [
        ("releases/api.yaml", RELEASE),
        ("releases/values.yaml", config),
        ("releases/other.yaml", &*other),
        ("sources/team.yaml", repository),
    ];
    for read in [
        "releases/api.yaml",
        "releases/values.yaml",
        "sources/team.yaml",
    ] {
        assert_reads("releases/api.yaml", &files, read, "releases/other.yaml");
    }
}

#[test]
fn generated_values_of_a_release() {
    let kustomization = "resources: [api.yaml]\nconfigMapGenerator:\n- name: api-values\n  files: [values.yaml=api-values.yaml]\n";
    let files = [
        ("releases/kustomization.yaml", kustomization),
        ("releases/api.yaml", RELEASE),
        ("releases/api-values.yaml", "a: old\n"),
        ("releases/unused.yaml", "a: old\n"),
    ];
    assert_reads(
        "releases/api.yaml",
        &files,
        "releases/api-values.yaml",
        "releases/unused.yaml",
    );
}

#[test]
fn a_patch_of_a_release() {
    let patch = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: api, namespace: shop}\nspec: {values: {b: old}}\n";
    let files = [
        ("base/kustomization.yaml", "resources: [api.yaml]\n"),
        ("base/api.yaml", RELEASE),
        (
            "prod/kustomization.yaml",
            "resources: [../base]\npatches: [{path: api.yaml}]\n",
        ),
        ("prod/api.yaml", patch),
        ("prod/unused.yaml", "a: old\n"),
    ];
    assert_reads("base/api.yaml", &files, "prod/api.yaml", "prod/unused.yaml");
}

#[test]
fn a_chart_of_the_tree_and_its_values_files() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: api, namespace: shop}\nspec:\n  chart: {spec: {chart: ./charts/api, valuesFiles: [charts/api/values.yaml, envs/prod.yaml], sourceRef: {kind: GitRepository, name: flux-system}}}\n";
    let chart = "apiVersion: v2\nname: api\nversion: 0.1.0\n";
    let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Values.old }}}\n";
    let files = [
        ("clusters/api.yaml", release),
        ("charts/api/Chart.yaml", chart),
        ("charts/api/values.yaml", "a: old\n"),
        ("charts/api/templates/web.yaml", template),
        ("charts/api/templates/_helpers.tpl", "old"),
        ("charts/api/files/app.conf", "old"),
        ("charts/api/README.md", "old"),
        ("envs/prod.yaml", "a: old\n"),
        ("envs/test.yaml", "a: old\n"),
    ];
    for read in [
        "charts/api/values.yaml",
        "charts/api/templates/web.yaml",
        "charts/api/templates/_helpers.tpl",
        "charts/api/files/app.conf",
        "envs/prod.yaml",
    ] {
        for unrelated in ["envs/test.yaml", "charts/api/README.md"] {
            assert_reads("clusters/api.yaml", &files, read, unrelated);
        }
    }
}

/// A chart without an object that deploys it, also the root of the tree.
#[test]
fn files_of_a_chart_that_are_not_manifests() {
    for folder in ["charts/api/", ""] {
        let in_chart = |name: &str| format!("{folder}{name}");
        let names = [
            ("Chart.yaml", "apiVersion: v2\nname: api\nversion: 0.1.0\n"),
            ("templates/web.yaml", "kind: {{ include \"kind\" . }}\n"),
            ("templates/_helpers.tpl", "old"),
            ("charts/sub-0.1.0.tgz", "old"),
            ("values.schema.json", "{\"a\": \"old\"}"),
            (".helmignore", "old"),
            ("templates/.draft", "old"),
        ]
        .map(|(name, text)| (in_chart(name), text));
        let files: Files<'_> = names.iter().map(|(name, text)| (&**name, *text)).collect();
        let chart = in_chart("Chart.yaml");
        for read in [
            "templates/_helpers.tpl",
            "charts/sub-0.1.0.tgz",
            "values.schema.json",
            ".helmignore",
        ] {
            assert_reads(
                &chart,
                &files,
                &in_chart(read),
                &in_chart("templates/.draft"),
            );
        }
        // One of the trees does not have the file.
        let without: Files<'_> = files
            .iter()
            .filter(|(path, _)| !path.ends_with(".tpl"))
            .copied()
            .collect();
        for (before, after) in [(&files, &without), (&without, &files)] {
            assert_eq!(listed(before, after), [format!("after/{chart}")]);
        }
    }
}

#[test]
fn value_files_of_an_application() {
    let application = |source: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: api, namespace: argocd}}\nspec:\n  destination: {{namespace: shop}}\n{source}"
        )
    };
    let remote = application(
        "  sources:\n  - {repoURL: https://charts.example.com, chart: api, targetRevision: 1.0.0, helm: {valueFiles: [$values/envs/prod.yaml]}}\n  - {repoURL: https://git.example.com/team/gitops.git, targetRevision: HEAD, ref: values}\n",
    );
    let local = application(
        "  source: {repoURL: https://git.example.com/team/gitops.git, targetRevision: HEAD, path: charts/api, helm: {valueFiles: [values-old.yaml, ../../envs/prod.yaml]}}\n",
    );
    let chart = "apiVersion: v2\nname: api\nversion: 0.1.0\n";
    let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Values.old }}}\n";
    for application in [&remote, &local] {
        let mut files = vec![
            ("argocd/api.yaml", &**application),
            ("envs/prod.yaml", "a: old\n"),
            ("envs/test.yaml", "a: old\n"),
        ];
        let mut read = vec!["envs/prod.yaml"];
        if application == &local {
            files.extend([
                ("charts/api/Chart.yaml", chart),
                ("charts/api/templates/web.yaml", template),
                ("charts/api/values-old.yaml", "a: old\n"),
            ]);
            read.push("charts/api/values-old.yaml");
        }
        for read in read {
            assert_reads("argocd/api.yaml", &files, read, "envs/test.yaml");
        }
    }
}

/// An overlay on top of a base that gets a part that is not modelled: the only probe is the same.
#[test]
fn a_note_is_not_a_regression() {
    let replacements = "resources: [web.yaml]\nreplacements:\n- source: {kind: Pod, name: web, fieldPath: metadata.name}\n  targets:\n  - select: {kind: Pod}\n    fieldPaths: [spec.containers.0.image]\n";
    let before = [
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", NOT_REWRITTEN),
    ];
    let after = [
        ("base/kustomization.yaml", replacements),
        ("base/web.yaml", NOT_REWRITTEN),
        (
            "overlays/mesh/kustomization.yaml",
            "resources: [../../base]\n",
        ),
    ];
    let run = trees(&before, &after).run(&JSON).exits(0);
    assert_eq!(changes(&run), ["changed kustomization-not-modelled"]);
}

/// A rendered object has no text, and its words do not state its structure or its types.
#[test]
fn the_structure_of_rendered_values_is_read() {
    const KUSTOMIZATION: &str = "resources: [hr.yaml]\nnamespace: shop\n";
    let release = |values: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web}}\nspec:\n  chart: {{spec: \
             {{chart: web, version: 1.0.0, sourceRef: {{kind: HelmRepository, name: charts}}}}}}\n  values: {values}\n"
        )
    };
    let before = release("{probe: [{a: 1}, {b: 2}]}");
    for values in [
        "{probe: [{a: 1, b: 2}]}",
        "{probe: [{a: \"1\"}, {b: 2}]}",
        "{probe: [{a: 1}, {b: 3}]}",
    ] {
        let after = release(values);
        let files = |text| {
            [
                ("flux/kustomization.yaml", KUSTOMIZATION),
                ("flux/hr.yaml", text),
            ]
        };
        let parts = listed(&files(&before), &files(&after));
        assert_eq!(parts, ["after/flux/hr.yaml"], "{values}");
    }
}
