//! Checks of virtual machines: the predictions, and the findings that depend on the mesh model.

use crate::support::manifest::{Manifest, Pod, join};
use crate::support::project::Project;

fn group(name: &str, annotations: &str, probe: &str) -> String {
    let spec = format!(
        "  template: {{serviceAccount: {name}}}
  probe:
    failureThreshold: 3
    {probe}"
    );
    Manifest::new("networking.istio.io/v1", "WorkloadGroup", name)
        .within("shop")
        .annotations(annotations)
        .spec(&spec)
        .to_string()
}

fn all() -> String {
    let port = "proxy.istio.io/config: 'statusPort: 15999'";
    [
        group("plain", "", "httpGet: {path: /healthz, port: 8080}"),
        group("https", "", "httpGet: {port: 8443, scheme: HTTPS}"),
        group("tcp", "", "tcpSocket: {host: localhost, port: 5432}"),
        group("exec", "", "exec: {command: [pg_isready]}"),
        group("grpc", "", "grpc: {port: 9090}"),
        group("nothing", "", "periodSeconds: 5"),
        group("host", "", "httpGet: {host: example.com, port: 8080}"),
        group("agent", "", "httpGet: {port: 15020}"),
        group("moved", port, "httpGet: {port: 15020}"),
        group("moved-agent", port, "httpGet: {port: 15999}"),
        group("envoy", "", "tcpSocket: {port: 15006}"),
        group("open", "", "httpGet: {port: \"${PORT}\"}"),
        group("two", "", "httpGet: {port: 80}\n    tcpSocket: {port: 81}"),
    ]
    .join("---\n")
}

#[test]
fn predict_has_a_row_for_every_check() {
    let project = Project::with(&[("groups.yaml", &all())]);
    insta::assert_snapshot!(project.run(&["predict", "groups.yaml"]).stdout);
    let old = project.run(&["predict", "--mesh-version", "1.23", "groups.yaml"]);
    let https = old.stdout.lines().find(|line| line.contains("https "));
    assert!(https.unwrap().contains(" ok "), "{}", old.stdout);
    let none = project.run(&["predict", "--mesh", "none", "groups.yaml"]);
    assert_eq!(none.stdout.matches("not-in-mesh").count(), 13);
}

#[test]
fn every_check_is_explained() {
    let project = Project::with(&[("groups.yaml", &all())]);
    insta::assert_snapshot!(project.run(&["predict", "--explain", "groups.yaml"]).stdout);
}

/// Machines are in a separate list, which is absent without machines.
#[test]
fn the_report_has_machines() {
    let https = group("https", "", "httpGet: {port: 8443, scheme: HTTPS}");
    let pod = Pod::new("web").field("image: w").to_string();
    let project = Project::with(&[("a.yaml", &https), ("b.yaml", &pod)]);
    let json = |file: &str| {
        project
            .run(&["predict", "--output-format", "json", file])
            .stdout
    };
    insta::assert_snapshot!(json("a.yaml"));
    assert!(!json("b.yaml").contains("machines"));
}

/// Rows are in the order of the files, independent of the kind.
#[test]
fn pods_and_machines_share_a_table() {
    let pod = Pod::new("web").field("image: w");
    let pod = pod.probe("readinessProbe", "exec: {command: [x]}");
    let pod = pod.to_string();
    let first = group("first", "", "exec: {command: [x]}");
    let last = group("last", "", "exec: {command: [x]}");
    let all = join(&[&first, &pod, &last]);
    let project = Project::with(&[("all.yaml", &all), ("a.yaml", &pod)]);
    let run = project.run(&["predict", "."]);
    let names = run.stdout.lines().filter_map(|line| line.split(' ').next());
    let names: Vec<&str> = names.skip(1).collect();
    let expected = [
        "Pod/web",
        "shop/WorkloadGroup/first",
        "Pod/web",
        "shop/WorkloadGroup/last",
    ];
    assert_eq!(names, expected);
}

/// `statusPort` sets the port of the agent: in an annotation, or else in the configuration of the mesh.
#[test]
fn the_port_of_the_agent_follows_the_configuration() {
    let check = |files: &[(&str, &str)]| {
        let project = Project::with(files);
        let run = project.run(&[
            "check",
            "--output-format",
            "concise",
            "--select",
            "vm-probe-port-conflict",
            ".",
        ]);
        let lines = run.stdout.lines().filter(|line| line.contains("vm-probe"));
        lines
            .map(|line| line.split(": ").next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let at = |port: u16| group("web", "", &format!("httpGet: {{port: {port}}}"));
    let mesh = Manifest::config_map("istio", "mesh: 'defaultConfig: {statusPort: 15999}'");
    let mesh = mesh.within("istio-system").to_string();
    assert_eq!(check(&[("web.yaml", &at(15020))]).len(), 1);
    assert_eq!(check(&[("web.yaml", &at(15999))]).len(), 0);
    assert_eq!(
        check(&[("web.yaml", &at(15020)), ("mesh.yaml", &mesh)]).len(),
        0
    );
    assert_eq!(
        check(&[("web.yaml", &at(15999)), ("mesh.yaml", &mesh)]).len(),
        1
    );
}

/// The path of the file for one group does not depend on the result for another group.
#[test]
fn a_refused_group_does_not_change_the_path_of_other_files() {
    let good = group("good", "", "httpGet: {port: 8080}");
    let bad = group("bad", "", "httpGet: {path: /}");
    let project = Project::with(&[("groups.yaml", &[good, bad].join("---\n"))]);
    project
        .run(&["rewrite", "--vm", "-o", "out", "groups.yaml"])
        .exits(1);
    assert!(project.read("out/shop/good/mesh.yaml").contains("8080"));
}

/// istioctl decodes the annotation and the mesh configuration before it writes `mesh.yaml`.
#[test]
fn wrong_types_in_the_proxy_configuration_are_not_written() {
    let group = |config: &str| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata:\n  name: db\n  namespace: vms\n  annotations:\n    \
             proxy.istio.io/config: '{config}'\nspec:\n  template: {{serviceAccount: db}}\n  probe: {{httpGet: {{port: 80}}}}\n"
        )
    };
    let mesh = |config: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: istio, namespace: istio-system}}\ndata:\n  mesh: |\n    \
             defaultConfig: {{{config}}}\n"
        )
    };
    let run = |annotation: &str, config: &str| {
        let files = [
            ("group.yaml", group(annotation)),
            ("istio.yaml", mesh(config)),
        ];
        let project = Project::with(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
        project.run(&["rewrite", "--vm", "--context", "istio.yaml", "group.yaml"])
    };
    run("{concurrency: 2}", "drainDuration: 5s").exits(0);
    for (annotation, config, message) in [
        (
            "{concurrency: one}",
            "",
            "`concurrency` must be a whole number",
        ),
        ("[", "", "its text is not YAML"),
        (
            "{concurrency: 2}",
            "drainDuration: 5",
            "`drainDuration` must be a duration",
        ),
    ] {
        let refused = run(annotation, config).exits(1);
        let refused = refused.stderr_contains("error[vm-probe-unreadable]");
        let stderr = refused
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            stderr.contains("istioctl fails: ") && stderr.contains(message),
            "{stderr}"
        );
    }
}
