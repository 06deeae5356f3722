//! Findings with the same cause, which the format `full` shows as one diagnostic.

use serde_json::Value;

use crate::support::findings;
use crate::support::manifest::{Manifest, OPT_OUT, Pod, join};
use crate::support::project::Project;

const HTTP: &str = "httpGet: {path: /healthz, port: 8080}";

/// Returns a tree with STRICT mutual TLS in the namespace `shop`, and these manifests in it.
fn strict(manifests: &[Pod]) -> Project {
    let namespace = Manifest::namespace("shop").injected().to_string();
    let mode = Manifest::peer_authentication("shop", "STRICT").to_string();
    let manifests: Vec<String> = manifests.iter().map(ToString::to_string).collect();
    let manifests: Vec<&str> = manifests.iter().map(String::as_str).collect();
    Project::with(&[
        ("mesh.yaml", &join(&[&namespace, &mode])),
        ("web.yaml", &join(&manifests)),
    ])
}

fn web() -> Pod {
    Pod::new("web").within("shop").container("web")
}

/// Returns the places of the JSON report as `path:line:column`.
fn places(project: &Project, options: &[&str]) -> Vec<String> {
    let arguments = ["check", "--fail-on=never", "--output-format=json"];
    let run = project.run(&[&arguments[..], options].concat()).exits(0);
    let number = |finding: &Value, key: &str| finding[key].as_u64().unwrap();
    let place = |finding: &Value| {
        let path = finding["path"].as_str().unwrap();
        format!(
            "{path}:{}:{}",
            number(finding, "line"),
            number(finding, "column")
        )
    };
    findings(&run).iter().map(place).collect()
}

#[test]
fn probes_of_a_workload_with_one_cause_are_one_diagnostic() {
    let pod = web().annotations(OPT_OUT);
    let pod = pod.probe("readinessProbe", "httpGet: {path: /ready, port: 8080}");
    let pod = pod.probe("livenessProbe", HTTP).field("image: web:1");
    let project = strict(&[pod.container("api").probe("livenessProbe", HTTP)]);
    insta::assert_snapshot!(project.run(&["check"]).transcript());
    assert_eq!(places(&project, &[]).len(), 3);
}

#[test]
fn the_message_lists_all_ports() {
    let pod = web().annotations(OPT_OUT).probe("livenessProbe", HTTP);
    let project = strict(&[pod.probe("readinessProbe", "httpGet: {port: 9090}")]);
    let run = project.run(&["check"]).exits(1);
    let text = run.stdout.replace("\n  ", " ");
    assert!(
        text.contains(
            "livenessProbe and readinessProbe of container `web` will fail: ports 8080 and 9090 require mutual TLS \
             (STRICT), and the probes are not rewritten"
        ),
        "{text}"
    );
    assert_eq!(text.matches("error[").count(), 1, "{text}");
    assert_eq!(places(&project, &[]).len(), 2);
}

#[test]
fn probes_with_different_causes_are_separate() {
    let pod = web().annotations(OPT_OUT).probe("livenessProbe", HTTP);
    let project = strict(&[pod.probe("readinessProbe", "tcpSocket: {port: 8080}")]);
    let text = project.run(&["check"]).exits(1).stdout;
    assert_eq!(text.matches("error[").count(), 2, "{text}");
}

#[test]
fn workloads_of_a_file_with_one_cause_are_one_diagnostic() {
    let names: Vec<String> = (1..=7).map(|number| format!("web-{number}")).collect();
    let pods = names
        .iter()
        .map(|name| Pod::deployment(name).within("shop"));
    let pods: Vec<Pod> = pods.map(|pod| pod.probe("livenessProbe", HTTP)).collect();
    let project = strict(&pods);
    let options = ["--assume", "rewrite=false"];
    let run = project.run(&[&["check"][..], &options].concat());
    insta::assert_snapshot!(run.transcript());
    let places = places(&project, &options);
    assert_eq!(places.len(), 7);
    for place in places {
        let (file_and_line, _) = place.rsplit_once(':').unwrap();
        let (_, line) = file_and_line.split_once(':').unwrap();
        let is_drawn = run.stdout.contains(&format!(" {line} |"));
        assert!(is_drawn || run.stdout.contains(&place), "{place}");
    }
}
