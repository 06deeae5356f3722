//! What is not judged is named, with what to do to judge it; a run without workloads is never plain green.

use serde_json::Value;

use super::fixes::WEB;
use crate::support::project::Project;

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: main}, valuesFiles: [charts/web/values-prod.yaml]}}
";

const CHART: &[(&str, &str)] = &[
    (
        "charts/web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    ),
    ("charts/web/values-prod.yaml", "replicas: 3\n"),
    (
        "charts/web/templates/web.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\n",
    ),
];

fn not_judged(project: &Project, arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["check", "--output-format", "json"];
    all.extend(arguments);
    let report: Value = serde_json::from_str(&project.run(&all).stdout).unwrap();
    let found = report["not_judged"].as_array().unwrap().clone();
    assert_eq!(report["summary"]["not_judged"], found.len());
    found
}

const RENDER: &str =
    "render it as it is deployed, and pipe the rendering into `meshprobe check --context . -`";

fn help_of(found: &[Value], reason: &str) -> String {
    let found: Vec<_> = found
        .iter()
        .filter(|found| found["reason"] == reason)
        .collect();
    assert_eq!(found.len(), 1, "{reason}: {found:?}");
    found[0]["help"].as_str().unwrap().to_owned()
}

#[test]
fn a_release_of_a_local_chart_is_named_with_its_command() {
    let project = Project::with(CHART);
    project.write("apps/web.yaml", RELEASE);
    let found = not_judged(&project, &[]);
    assert_eq!(
        help_of(&found, "helm-release"),
        "`meshprobe check --helm auto apps/web.yaml`"
    );
    // The chart is counted once.
    let [release] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(
        help_of(&not_judged(&project, &["charts"]), "chart"),
        "`meshprobe check --helm auto charts/web`"
    );
    assert_eq!(release["path"], "apps/web.yaml");
    assert_eq!(release["line"], 3);
    assert_eq!(release["object"]["kind"], "HelmRelease");
}

#[test]
fn remote_charts_are_named_with_the_reason() {
    let project = Project::with(&[
        (
            "redis.yaml",
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: redis, namespace: shop}\nspec:\n  \
             chart: {spec: {chart: redis, version: 18.1.0, sourceRef: {kind: HelmRepository, name: stable}}}\n  \
             values: {a: 1}\n  valuesFrom: [{kind: ConfigMap, name: more}]\n",
        ),
        (
            "app.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: db}\nspec:\n  \
             destination: {namespace: data}\n  source: {repoURL: 'https://charts.example', chart: db, targetRevision: 2.0.0, \
             helm: {parameters: [{name: a.b, value: $(x)}]}}\n",
        ),
        (
            "k3s.yaml",
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: web, namespace: kube-system}\nspec: \
             {chart: web, repo: 'https://charts.example', valuesContent: 'port: 80'}\n",
        ),
    ]);
    let found = not_judged(&project, &[]);
    for (reason, message) in [
        (
            "helm-release",
            "HelmRelease/redis: the chart `redis` is not in the tree",
        ),
        (
            "chart-application",
            "Application/db: the chart `db` is not in the tree",
        ),
        (
            "helm-chart",
            "HelmChart/web: the chart `web` is not in the tree",
        ),
    ] {
        assert_eq!(help_of(&found, reason), RENDER);
        assert!(
            found.iter().any(|found| found["message"] == message),
            "{found:?}"
        );
    }
}

#[test]
fn an_application_with_a_local_chart_is_named_and_one_with_manifests_is_not() {
    let project = Project::with(CHART);
    let app = |path: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web}}\nspec:\n  project: x\n  \
             destination: {{namespace: shop}}\n  source: {{repoURL: 'https://git.example/r', path: {path}, \
             helm: {{valueFiles: [values-prod.yaml]}}}}\n"
        )
    };
    project.write("app.yaml", app("charts/web"));
    let found = not_judged(&project, &[]);
    assert_eq!(
        help_of(&found, "chart-application"),
        "`meshprobe check --helm auto app.yaml`"
    );
    project.write("app.yaml", app("manifests"));
    project.write("manifests/web.yaml", WEB);
    let found = not_judged(&project, &[]);
    let is_release = |found: &Value| found["reason"] == "chart-application";
    assert!(!found.iter().any(is_release), "{found:?}");
}

#[test]
fn releases_of_the_mesh_are_facts() {
    let project = Project::with(&[(
        "istiod.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: istiod, namespace: istio-system}\nspec:\n  \
         chart: {spec: {chart: istiod, version: 1.28.0, sourceRef: {kind: HelmRepository, name: istio}}}\n",
    )]);
    assert!(not_judged(&project, &[]).is_empty());
}

#[test]
fn parts_of_pods_and_patterns_are_named() {
    let object = |api_version: &str, kind: &str, rest: &str| {
        format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: web, namespace: shop}}\n{rest}\n"
        )
    };
    let pod =
        "{containers: [{name: web, image: a, readinessProbe: {httpGet: {path: /, port: 80}}}]}";
    let virtual_machine = "spec: {template: {spec: {readinessProbe: {httpGet: {port: 80}}}}}";
    for (api_version, kind, rest, reason) in [
        (
            "monitoring.coreos.com/v1",
            "Prometheus",
            format!("spec: {pod}"),
            "operator-pod",
        ),
        (
            "kubevirt.io/v1",
            "VirtualMachine",
            virtual_machine.to_owned(),
            "operator-pod",
        ),
        (
            "kyverno.io/v1",
            "ClusterPolicy",
            format!("spec: {{rules: [{{validate: {{pattern: {{spec: {pod}}}}}}}]}}"),
            "policy-pattern",
        ),
        (
            "template.openshift.io/v1",
            "Template",
            format!("objects: [{{apiVersion: v1, kind: Pod, spec: {pod}}}]"),
            "openshift-template",
        ),
    ] {
        let project = Project::with(&[("web.yaml", &object(api_version, kind, &rest))]);
        let found = not_judged(&project, &[]);
        assert!(
            help_of(&found, reason).contains("meshprobe check -"),
            "{kind}"
        );
    }
}

#[test]
fn a_run_without_workloads_says_what_was_read_and_what_to_try() {
    let project = Project::with(CHART);
    project.write("apps/web.yaml", RELEASE);
    let run = project.run(&["check"]).exits(0);
    let run = run
        .stdout_contains("in 1 of 4 files (0 workloads, 0 handlers; not judged: 1 HelmRelease).")
        .stdout_contains("The commands above would judge the workloads.")
        .stdout_contains("Not judged: apps/web.yaml:3: HelmRelease/web: the chart in `charts/web` is not rendered: `meshprobe check --helm");
    assert!(!run.stdout.contains("No findings"), "{}", run.stdout);

    project.write(
        "other/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
    );
    project
        .run(&["check", "other"])
        .exits(0)
        .stdout_contains("Nothing was judged in 1 file")
        .stdout_contains(
            "None of the files that were read contains a workload: `other/service.yaml`.",
        )
        .stdout_contains("kustomize build DIR");
    std::fs::create_dir(project.path("empty")).unwrap();
    project
        .run(&["check", "empty"])
        .exits(2)
        .stderr_contains("no manifest found");
    for format in ["github", "gitlab", "sarif", "junit"] {
        project
            .run(&["check", "other", "--output-format", format])
            .exits(0)
            .stderr_contains("Nothing was judged");
    }
    project
        .run(&["check", "other", "--output-format", "summary"])
        .stdout_contains("**Nothing was judged** in 1 file");
}

/// A report for programs is not empty if something is not judged.
#[test]
fn reports_for_programs_contain_what_is_not_judged() {
    let project = Project::with(CHART);
    project.write("apps/web.yaml", RELEASE);
    let junit = project.run(&["check", "--output-format", "junit"]).exits(0);
    junit
        .stdout_contains("<testsuite name=\"not judged\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">")
        .stdout_contains("<testcase name=\"not judged (helm-release): shop/HelmRelease/web\" classname=\"apps/web.yaml\">")
        .stdout_contains("<skipped message=\"apps/web.yaml:3: HelmRelease/web: the chart in `charts/web` is not rendered");
    let sarif = project.run(&["check", "--output-format", "sarif"]).exits(0);
    let report: Value = serde_json::from_str(&sarif.stdout).unwrap();
    let notifications = &report["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    let [nothing, release] = notifications.as_array().unwrap().as_slice() else {
        panic!("{notifications}");
    };
    assert_eq!(nothing["level"], "warning");
    let text = nothing["message"]["text"].as_str().unwrap();
    assert!(text.starts_with("Nothing was judged"), "{text}");
    assert_eq!(release["level"], "note");
    let text = release["message"]["text"].as_str().unwrap();
    assert!(text.starts_with("not judged: HelmRelease/web"), "{text}");
    assert!(
        text.contains("`meshprobe check --helm auto apps/web.yaml`"),
        "{text}"
    );
    let place = &release["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "apps/web.yaml");
    assert_eq!(place["region"]["startLine"], 3);
}

/// Runs that print no report also say that nothing was judged, and fail if workloads are required.
#[test]
fn runs_without_a_report_say_that_nothing_was_judged() {
    let project = Project::with(&[(
        "a/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
    )]);
    for arguments in [
        &["check", "--diff"][..],
        &["check", "--write-baseline", "baseline.json"],
    ] {
        let run = project.run(arguments).exits(0);
        run.stderr_contains("Nothing was judged: no workloads.");
        let required = [arguments, &["--require-workloads"]].concat();
        project
            .run(&required)
            .exits(1)
            .stderr_contains("`--require-workloads` requires one");
        let quiet = project.run(&[arguments, &["--quiet"]].concat()).exits(0);
        assert_eq!(quiet.stderr, "");
    }
}

#[test]
fn a_run_can_require_workloads() {
    let project = Project::with(&[(
        "a/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
    )]);
    let why = "error: the files contain no workload that can be judged, but `--require-workloads` requires one";
    project
        .run(&["check", "--require-workloads"])
        .exits(1)
        .stderr_contains(why);
    // A warning replaces the text "Nothing was judged", and does not fail the run.
    project.write("a/broken.yaml", "a: b: c\n");
    for format in ["full", "json"] {
        let never = ["check", "--fail-on", "never", "--output-format", format];
        let run = project.run(&never).exits(0);
        assert!(
            !run.stderr.contains("--require-workloads"),
            "{}",
            run.stderr
        );
        project
            .run(&[&never[..], &["--require-workloads"]].concat())
            .exits(1)
            .stderr_contains(why);
    }
    std::fs::remove_file(project.path("a/broken.yaml")).unwrap();
    project.write("b/web.yaml", WEB);
    project
        .run(&["check", "--require-workloads"])
        .exits(0)
        .stdout_contains("No findings");
    project.run(&["check", "--require-workloads", "a"]).exits(1);
}

#[test]
fn a_chart_folder_that_does_not_exist_is_named() {
    let project = Project::with(CHART);
    let message_and_help = |project: &Project| {
        let found = not_judged(project, &["apps"]);
        let [release] = found.as_slice() else {
            panic!("{found:?}");
        };
        ["message", "help"].map(|key| release[key].as_str().unwrap().to_owned())
    };
    let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  \
               source: {repoURL: 'https://git.example/r', path: ./charts/web, helm: {releaseName: x}}\n";
    for (text, title) in [(RELEASE, "HelmRelease"), (app, "Application")] {
        project.write(
            "apps/web.yaml",
            text.replace("./charts/web", "./charts/wbe"),
        );
        assert_eq!(
            message_and_help(&project),
            [
                format!(
                    "{title}/web: `./charts/wbe` is not a folder of this repository with a chart"
                ),
                RENDER.to_owned(),
            ]
        );
        project.write(
            "apps/web.yaml",
            text.replace("./charts/web", "'./charts/${NAME}'"),
        );
        let [message, _] = message_and_help(&project);
        assert!(
            message.contains("another tool fills in the path"),
            "{message}"
        );
    }
    // An Application without settings of helm names a folder.
    let plain = app.replace("./charts/web", "charts/wbe");
    project.write(
        "apps/web.yaml",
        plain.replace(", helm: {releaseName: x}", ""),
    );
    let [message, _] = message_and_help(&project);
    assert!(
        message.contains("is not a folder of this repository"),
        "{message}"
    );
}

#[test]
fn a_chart_whose_values_file_is_replaced_is_named() {
    let project = Project::with(CHART);
    project.write("charts/web/values.yaml", "replicas: 1\n");
    project.write("apps/web.yaml", RELEASE);
    let found = not_judged(&project, &["apps"]);
    assert_eq!(help_of(&found, "helm-release"), RENDER);
    let message = found[0]["message"].as_str().unwrap();
    assert!(
        message.contains("`valuesFiles` replaces the `values.yaml` of the chart"),
        "{message}"
    );
}

#[test]
fn a_chart_in_git_of_the_first_helm_operator_is_named() {
    let release = "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\n\
                   spec: {chart: {git: 'git@git.example:org/charts', path: PATH, ref: main}}\n";
    let project = Project::with(CHART);
    project.write("apps/web.yaml", release.replace("PATH", "charts/web"));
    let help = help_of(&not_judged(&project, &["apps"]), "helm-release");
    assert_eq!(help, "`meshprobe check --helm auto apps/web.yaml`");
    project.write("apps/web.yaml", release.replace("PATH", "charts/other-app"));
    let help = help_of(&not_judged(&project, &["apps"]), "helm-release");
    assert_eq!(help, RENDER);
}

#[test]
fn a_release_without_a_chart_is_named() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\n\
                   spec: {interval: 5m}\n";
    let project = Project::with(&[("apps/web.yaml", release)]);
    let found = not_judged(&project, &["apps"]);
    assert_eq!(help_of(&found, "helm-release"), RENDER);
    assert_eq!(found[0]["message"], "HelmRelease/web: it names no chart");
}

#[test]
fn the_applications_of_a_set_are_named_instead_of_the_set() {
    let set = |generators: &str, source: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: all}}\nspec:\n  \
             generators: [{generators}]\n  template:\n    metadata: {{name: 'x-{{{{name}}}}'}}\n    spec:\n      \
             destination: {{namespace: '{{{{name}}}}'}}\n      source: {{repoURL: 'https://charts.example', {source}}}\n"
        )
    };
    let list = "{list: {elements: [{name: a}, {name: b}]}}";
    let project = Project::with(CHART);
    let named = |text: String| -> Vec<String> {
        project.write("apps/set.yaml", text);
        let found = not_judged(&project, &["apps"]).into_iter();
        let text = |found: &Value, key: &str| found[key].as_str().unwrap().to_owned();
        found
            .map(|found| format!("{}: {}", text(&found, "message"), text(&found, "help")))
            .collect()
    };
    let chart = "chart: redis, targetRevision: 1.0.0, helm: {valuesObject: {a: '{{name}}'}}";
    assert_eq!(
        named(set(list, chart)),
        ["a", "b"].map(|name| format!(
            "Application/x-{name}: the chart `redis` is not in the tree: {RENDER}"
        ))
    );
    let clusters = named(set("{clusters: {}}", chart));
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    assert!(
        clusters[0].contains("Application/x-{{name}}"),
        "{clusters:?}"
    );
    // A set without Applications, as far as is known.
    let none = named(set("{list: {elements: []}}", chart));
    assert_eq!(none.len(), 1, "{none:?}");
    assert!(none[0].contains("ApplicationSet/all"), "{none:?}");
    // A chart of the tree is rendered only with known values.
    let local = |values: &str| format!("path: charts/web, helm: {{values: '{values}'}}");
    let judgeable = named(set(list, &local("a: {{name}}")));
    assert!(
        judgeable[0].contains("`meshprobe check --helm auto apps/set.yaml`"),
        "{judgeable:?}"
    );
    let unknown = named(set("{clusters: {}}", &local("a: {{name}}")));
    assert!(unknown[0].contains("is not expanded"), "{unknown:?}");
    let path = named(set(
        "{clusters: {}}",
        "path: 'charts/{{name}}', helm: {values: 'a: 1'}",
    ));
    assert!(
        path[0].contains("another tool fills in the path"),
        "{path:?}"
    );
}

#[test]
fn what_cannot_be_rendered_is_named_with_the_reason() {
    let project = Project::with(CHART);
    let message = |text: &str| {
        project.write("apps/web.yaml", text);
        let found = not_judged(&project, &["apps"]);
        let [release] = found.as_slice() else {
            panic!("{found:?}");
        };
        let command = release["help"].as_str().unwrap();
        format!("{}: {command}", release["message"].as_str().unwrap())
    };
    let app = |helm: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web}}\nspec:\n  \
             source: {{repoURL: 'https://git.example/r', path: charts/web, helm: {helm}}}\n"
        )
    };
    let found = message(&app("{fileParameters: [{name: a, path: files/a}]}"));
    assert!(
        found.contains("`fileParameters` is not supported"),
        "{found}"
    );
    for path in ["a[0].b", r"a\.b"] {
        let from = format!(
            "  valuesFrom: [{{kind: ConfigMap, name: v, valuesKey: p, targetPath: '{path}'}}]\n---\napiVersion: v1\n\
             kind: ConfigMap\nmetadata: {{name: v, namespace: shop}}\ndata: {{p: x}}\n"
        );
        let found = message(&format!("{RELEASE}{from}"));
        assert!(
            found.contains(&format!("the `targetPath` `{path}` is not supported")),
            "{found}"
        );
    }
    let reference = |kind: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: shop}}\n\
             spec: {{chartRef: {{kind: {kind}, name: redis}}}}\n---\n"
        )
    };
    let found = message(&reference("HelmChart"));
    assert!(
        found.contains("the chart `redis` is not in the tree"),
        "{found}"
    );
    let chart = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: redis, namespace: shop}\n\
                 spec: {chart: redis-cluster, version: 2.0.0, sourceRef: {kind: HelmRepository, name: stable}}\n---\n\
                 apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: stable, namespace: shop}\n\
                 spec: {url: 'https://charts.example'}\n";
    let found = message(&format!("{}{chart}", reference("HelmChart")));
    assert!(
        found.contains("the chart `redis-cluster` is not in the tree"),
        "{found}"
    );
    let local = chart
        .replace("redis-cluster", "charts/web")
        .replace("HelmRepository", "GitRepository");
    let found = message(&format!("{}{local}", reference("HelmChart")));
    assert!(
        found.contains("`meshprobe check --helm auto apps/web.yaml`"),
        "{found}"
    );
}

#[test]
fn containers_without_image_are_named() {
    let project = Project::new();
    let container = "{name: web, readinessProbe: {httpGet: {path: /, port: 80}}}";
    for spec in [
        format!("{{containers: [{container}]}}"),
        format!("{{pods: {{spec: {{containers: [{container}]}}}}}}"),
        format!("{{a: {{b: [{{containers: [{{name: x, image: a}}, {container}]}}]}}}}"),
        format!("{{containers: [{}]}}", container.replace("name: web, ", "")),
    ] {
        let object = format!(
            "apiVersion: acme.example/v1\nkind: App\nmetadata: {{name: web}}\nspec: {spec}\n"
        );
        project.write("app.yaml", object);
        let found = not_judged(&project, &[]);
        assert!(
            help_of(&found, "operator-pod").contains("kubectl get pods"),
            "{spec}"
        );
    }
}
