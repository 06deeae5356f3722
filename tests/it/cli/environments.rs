//! Findings in objects that several overlays or clusters deploy.

use serde_json::{Value, json};

use crate::support::findings;
use crate::support::manifest::{Manifest, OPT_OUT, Pod, join};
use crate::support::project::Project;

const RULE: &str = "strict-probe-not-rewritten";

fn web() -> String {
    let pod = Pod::new("web").within("shop").annotations(OPT_OUT);
    let probe = "httpGet: {path: /healthz, port: 8080}";
    pod.probe("livenessProbe", probe).to_string()
}

/// Returns a tree with a base, and one overlay per mode of mutual TLS, or without a mesh.
fn overlays(modes: &[(&str, &str)]) -> Project {
    let project = Project::with(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", &web()),
    ]);
    for (name, mode) in modes {
        let kustomization = "resources: [../../base, mesh.yaml]\n";
        project.write(
            &format!("overlays/{name}/kustomization.yaml"),
            kustomization,
        );
        let namespace = Manifest::namespace("shop");
        let mesh = if *mode == "none" {
            namespace.labels("istio-injection: disabled").to_string()
        } else {
            let mode = Manifest::peer_authentication("shop", mode).to_string();
            join(&[&namespace.injected().to_string(), &mode])
        };
        project.write(&format!("overlays/{name}/mesh.yaml"), mesh);
    }
    project
}

fn found(project: &Project, paths: &[&str]) -> Vec<Value> {
    let arguments = ["check", "--fail-on=never", "--output-format=json"];
    findings(&project.run(&[&arguments[..], paths].concat()).exits(0))
}

/// Returns the line `in:` of the only finding.
fn environments(project: &Project) -> Option<String> {
    let text = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("  in: "));
    let line = lines.next().map(str::to_owned);
    assert_eq!(lines.next(), None, "{text}");
    line
}

#[test]
fn a_finding_lists_the_overlays_that_it_applies_to() {
    let project = overlays(&[("prod", "STRICT"), ("stage", "STRICT")]);
    assert_eq!(environments(&project).as_deref(), Some("prod, stage"));
    let [finding] = <[Value; 1]>::try_from(found(&project, &[])).unwrap();
    let environment = |name: &str| json!({"name": name, "path": format!("overlays/{name}/kustomization.yaml"), "affected": true, "outcome": "fails", "certainty": "known"});
    assert_eq!(
        finding["environments"],
        json!([environment("prod"), environment("stage")])
    );
    let concise = project.run(&["check", "--output-format=concise"]).exits(1);
    concise.stdout_contains("is not rewritten (in: prod, stage)\n");
}

#[test]
fn a_finding_names_the_overlays_in_which_the_probe_works() {
    let project = overlays(&[
        ("prod", "STRICT"),
        ("stage", "PERMISSIVE"),
        ("test", "none"),
    ]);
    assert_eq!(
        environments(&project).as_deref(),
        Some("prod; is not in the mesh in test; works in stage")
    );
    let [finding] = <[Value; 1]>::try_from(found(&project, &[])).unwrap();
    assert_eq!(finding["rule"], RULE);
    let outcomes: Vec<String> = finding["environments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|environment| {
            let text = |key: &str| environment[key].as_str().unwrap().to_owned();
            format!(
                "{} {} {}",
                text("name"),
                text("outcome"),
                environment["affected"]
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            "prod fails true",
            "test not-in-mesh false",
            "stage ok false"
        ]
    );
    // The overlays of the finding are those that it applies to.
    assert_eq!(
        finding["overlays"],
        json!(["overlays/prod/kustomization.yaml"])
    );
}

/// A plain file that two Applications deploy belongs to both environments, in every finding.
#[test]
fn findings_in_plain_files_name_the_environments_that_deploy_them() {
    let pod = Pod::new("web").within("shop").annotations(OPT_OUT);
    let pod = pod.probe("livenessProbe", "httpGet: {path: /healthz, port: 8080}");
    let pod = pod.probe("readinessProbe", "tcpSocket: {port: 8080}");
    let project = Project::with(&[("base/web.yaml", &pod.to_string())]);
    for (name, mode) in [("dev", "PERMISSIVE"), ("prod", "STRICT")] {
        let application = Manifest::new("argoproj.io/v1alpha1", "Application", "web")
            .within("argocd")
            .spec("  destination: {namespace: shop}\n  source: {path: base}\n");
        let namespace = Manifest::namespace("shop").injected().to_string();
        let policy = Manifest::peer_authentication("shop", mode).to_string();
        let application = application.to_string();
        let mesh = join(&[&application, &namespace, &policy]);
        project.write(&format!("clusters/{name}/app.yaml"), mesh);
    }
    let run = project.run(&["check", "--output-format=concise", "--fail-on=never"]);
    let run = run
        .exits(0)
        .stdout_contains("is not rewritten (in: prod; works in dev)\n");
    let lines = run.stdout.lines();
    let tcp: Vec<&str> = lines
        .filter(|line| line.contains("[tcp-probe-always-passes]"))
        .collect();
    assert_eq!(tcp.len(), 1, "{}", run.stdout);
    assert!(tcp[0].ends_with("(in: dev, prod)"), "{}", run.stdout);
}

/// A finding that applies to one of the environments of a plain file names it, also if it is not about a probe.
#[test]
fn findings_in_plain_files_name_the_only_environment_they_apply_to() {
    let pod = Pod::new("web")
        .within("shop")
        .labels("sidecar.istio.io/inject: 'true'");
    let pod = pod.probe("readinessProbe", "httpGet: {path: /healthz, port: 8080}");
    let project = Project::with(&[("base/web.yaml", &pod.to_string())]);
    for (name, injection) in [("dev", "enabled"), ("prod", "disabled")] {
        let application = Manifest::new("argoproj.io/v1alpha1", "Application", "web")
            .within("argocd")
            .spec("  destination: {namespace: shop}\n  source: {path: base}\n");
        let injection = format!("istio-injection: {injection}");
        let namespace = Manifest::namespace("shop").labels(&injection).to_string();
        let application = application.to_string();
        let files = join(&[&application, &namespace]);
        project.write(&format!("clusters/{name}/app.yaml"), files);
    }
    for path in [".", "clusters/prod"] {
        let check = |format: &str| {
            let format = format!("--output-format={format}");
            project
                .run(&["check", "--fail-on=never", &format, path])
                .exits(0)
        };
        let concise = check("concise").stdout_contains("[inject-label-blocked-by-namespace]");
        concise.stdout_contains("(in: prod)");
        let found = findings(&check("json"));
        let expected = serde_json::json!([
            {"name": "prod", "path": "clusters/prod/app.yaml", "affected": true, "certainty": "known", "outcome": null}
        ]);
        assert_eq!(found[0]["environments"], expected, "{found:#?}");
        check("sarif").stdout_contains("clusters/prod/app.yaml");
    }
    // The table names the environment also if the others are not shown.
    let row = |path: &str| project.run(&["predict", path]).exits(0).stdout;
    let prod = row("clusters/prod");
    assert!(prod.contains("  IN    OUTCOME"), "{prod}");
    assert!(prod.contains("  prod  not-in-mesh"), "{prod}");
    let all = row(".");
    assert!(
        all.contains("  dev   ok") && all.contains("  prod  not-in-mesh"),
        "{all}"
    );
}

/// An assumed outcome is not stated as if it were known.
#[test]
fn environments_without_facts_are_not_known() {
    let project = overlays(&[("prod", "STRICT"), ("stage", "PERMISSIVE")]);
    let kustomization = "resources: [../../base]\n";
    project.write("overlays/dev/kustomization.yaml", kustomization);
    let line = "prod; works in stage; not known in dev";
    assert_eq!(environments(&project).as_deref(), Some(line));
    for format in [
        "concise", "full", "github", "gitlab", "junit", "sarif", "summary",
    ] {
        let run = project.run(&["check", "--output-format", format]);
        run.exits(1).stdout_contains(line);
    }
    let found = found(&project, &[]);
    let finding = found.iter().find(|finding| finding["rule"] == RULE);
    let finding = finding.unwrap();
    let entries = finding["environments"].as_array().unwrap().iter();
    let dev: Vec<&Value> = entries.filter(|entry| entry["name"] == "dev").collect();
    let expected = json!({"name": "dev", "path": "overlays/dev/kustomization.yaml", "affected": false, "outcome": "ok", "certainty": "assumed"});
    assert_eq!(dev, [&expected]);
}

#[test]
fn a_finding_in_a_patch_names_the_other_overlays() {
    let project = overlays(&[("prod", "STRICT"), ("stage", "STRICT")]);
    project.write("base/web.yaml", web().replace("'false'", "'true'"));
    assert_eq!(found(&project, &[]), [] as [Value; 0]);
    project.write(
        "overlays/prod/kustomization.yaml",
        "\
resources: [../../base, mesh.yaml]
patches:
- patch: |
    apiVersion: v1
    kind: Pod
    metadata:
      name: web
      namespace: shop
    spec:
      containers:
      - name: web
        livenessProbe: {httpGet: {host: 10.0.0.7}}
",
    );
    assert_eq!(
        environments(&project).as_deref(),
        Some("prod; works in stage")
    );
    let [finding] = <[Value; 1]>::try_from(found(&project, &[])).unwrap();
    assert_eq!(finding["rule"], "http-probe-host-rewritten");
    assert_eq!(finding["path"], "overlays/prod/kustomization.yaml");
}

#[test]
fn many_environments_stay_readable() {
    let names: Vec<String> = (1..=33).map(|number| format!("c{number:02}")).collect();
    let modes: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "STRICT")).collect();
    let project = overlays(&modes);
    let named = "c01, c02, c03, c04, c05, c06 and 27 more";
    assert_eq!(environments(&project).as_deref(), Some(named));
    let text = project.run(&["check"]).exits(1).stdout;
    assert!(text.lines().count() < 40, "{text}");
    let [finding] = <[Value; 1]>::try_from(found(&project, &[])).unwrap();
    let all = finding["environments"].as_array().unwrap();
    let all = all.iter().map(|environment| {
        assert_eq!(environment["affected"], true);
        let name = environment["name"].as_str().unwrap();
        assert_eq!(
            environment["path"],
            format!("overlays/{name}/kustomization.yaml")
        );
        name
    });
    assert_eq!(all.collect::<Vec<_>>(), names);
}

#[test]
fn a_finding_in_a_namespace_names_the_overlays() {
    let project = Project::with(&[
        (
            "base/kustomization.yaml",
            "resources: [namespace.yaml, web.yaml]\n",
        ),
        (
            "base/namespace.yaml",
            &Manifest::namespace("shop")
                .labels("istio-injection: enable")
                .to_string(),
        ),
        ("base/web.yaml", &web()),
    ]);
    let overlay = |name: &str, resources: &str| {
        let path = format!("overlays/{name}/kustomization.yaml");
        project.write(&path, format!("resources: [{resources}]\n"));
    };
    overlay("prod", "../../base");
    overlay("stage", "../../base");
    assert_eq!(environments(&project).as_deref(), Some("prod, stage"));
    // An overlay without a workload has a name as well.
    overlay("test", "../../base/namespace.yaml");
    assert_eq!(environments(&project).as_deref(), Some("prod, stage, test"));
    let [finding] = <[Value; 1]>::try_from(found(&project, &["--overlay", "test"])).unwrap();
    assert_eq!(finding["rule"], "mesh-label-invalid");
}

#[test]
fn overlays_of_several_applications_are_named_after_their_paths() {
    let namespace = Manifest::namespace("shop").labels("istio-injection: enable");
    let project = Project::with(&[("common/namespace.yaml", &namespace.to_string())]);
    for name in ["web", "api"] {
        let pod = web().replace("name: web", &format!("name: {name}"));
        project.write(&format!("{name}/base/pod.yaml"), pod);
        let resources = "resources: [pod.yaml, ../../common/namespace.yaml]\n";
        project.write(&format!("{name}/base/kustomization.yaml"), resources);
        for overlay in ["prod", "stage"] {
            let path = format!("{name}/{overlay}/kustomization.yaml");
            project.write(&path, "resources: [../base]\n");
        }
    }
    let paths = ["api/prod", "api/stage", "web/prod", "web/stage"];
    let paths = paths.map(|path| format!("{path}/kustomization.yaml"));
    let [finding] = <[Value; 1]>::try_from(found(&project, &[])).unwrap();
    let named = finding["environments"].as_array().unwrap().iter();
    let names: Vec<&Value> = named.map(|environment| &environment["name"]).collect();
    assert_eq!(names, paths.each_ref());
}

#[test]
fn one_overlay_is_not_named() {
    let project = overlays(&[("prod", "STRICT")]);
    assert_eq!(environments(&project), None);
    let [finding] = <[Value; 1]>::try_from(found(&project, &[])).unwrap();
    assert_eq!(finding.get("environments"), None);
}

#[test]
fn a_probe_that_is_right_everywhere_is_not_reported() {
    let project = overlays(&[("prod", "STRICT"), ("stage", "PERMISSIVE")]);
    project.write("base/web.yaml", web().replace("'false'", "'true'"));
    assert_eq!(found(&project, &[]), [] as [Value; 0]);
}
