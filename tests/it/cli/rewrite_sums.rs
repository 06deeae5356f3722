//! The sum at the end of `rewrite`, and one finding per refused pod.

use serde_json::Value;

use crate::cli::platform::platform;
use crate::support::project::Project;

const NAMESPACE: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";

/// Returns a Pod with one container. `annotations` are in flow style; empty for none.
fn pod(name: &str, annotations: &str, probes: &str) -> String {
    let annotations = match annotations {
        "" => String::new(),
        entries => format!("  annotations: {{{entries}}}\n"),
    };
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  namespace: shop\n{annotations}spec:\n  containers:\n    - name: web\n      image: web:1\n{probes}"
    )
}

/// Returns a probe of a port.
fn probe(slot: &str, port: &str) -> String {
    format!("      {slot}: {{httpGet: {{path: /healthz, port: {port}}}}}\n")
}

/// Six pods: one to rewrite, two refused, one opted out, two that need nothing.
fn six() -> String {
    let opted_out = "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"";
    [
        NAMESPACE.to_owned(),
        pod("good", "", &probe("livenessProbe", "8080")),
        pod("named", "", &probe("livenessProbe", "htpt")),
        pod(
            "doubled",
            "",
            &(probe("livenessProbe", "htpt") + &probe("readinessProbe", "8080")),
        ),
        pod("out", opted_out, &probe("livenessProbe", "8080")),
        pod(
            "exec",
            "",
            "      livenessProbe: {exec: {command: [\"true\"]}}\n",
        ),
        pod("none", "", ""),
    ]
    .concat()
}

const SUM: &str = "1 of 6 workloads rewritten, 2 refused, 1 opted out, 2 need nothing";

/// Returns the last line of standard error.
fn last_line(stderr: &str) -> &str {
    stderr.lines().last().unwrap_or_default()
}

#[test]
fn every_output_ends_with_the_same_sum() {
    let project = Project::with(&[("all.yaml", &six()), ("ns.yaml", NAMESPACE)]);
    let rollouts = "applying the changes triggers rollouts.";
    let would = SUM.replace("rewritten", "would be rewritten");
    let run = project.run(&["rewrite", "--diff", "all.yaml"]).exits(1);
    assert_eq!(
        last_line(&run.stderr),
        format!("{would}. Would change 1 file; {rollouts}")
    );
    let run = project.pipe(&["rewrite", "-"], six()).exits(1);
    assert_eq!(last_line(&run.stderr), format!("{SUM}; {rollouts}"));
    // The counts are those of `predict`, which lists all workloads.
    let predicted = project.run(&["predict", "--output-format", "json", "all.yaml"]);
    let predicted: Value = serde_json::from_str(&predicted.stdout).unwrap();
    let workloads = predicted["workloads"].as_array().unwrap().len();
    assert_eq!(workloads, 6, "{predicted:#}");
    let run = project.run(&["rewrite", "--write", "all.yaml"]).exits(1);
    assert_eq!(
        last_line(&run.stderr),
        format!("{SUM}. Changed 1 file; {rollouts}")
    );
    // The rewritten pod now needs nothing.
    let run = project.run(&["rewrite", "--write", "all.yaml"]).exits(1);
    assert_eq!(
        last_line(&run.stderr),
        "0 of 6 workloads rewritten, 2 refused, 1 opted out, 3 need nothing."
    );
    let undo = ["rewrite", "--undo", "--write", "all.yaml"];
    let run = project.run(&undo).exits(0);
    assert_eq!(
        last_line(&run.stderr),
        format!("1 of 6 workloads restored, 5 need nothing. Changed 1 file; {rollouts}")
    );
    assert_eq!(project.read("all.yaml"), six());
    let run = project.run(&undo).exits(0);
    assert_eq!(last_line(&run.stderr), "Nothing to undo (6 workloads).");
    let run = project.run(&["rewrite", "--write", "ns.yaml"]).exits(0);
    assert_eq!(last_line(&run.stderr), "Nothing to rewrite (0 workloads).");
    let run = project.run(&["rewrite", "--quiet", "--diff", "all.yaml"]);
    assert!(!run.stderr.contains("workloads"), "{}", run.stderr);
}

#[test]
fn a_refused_pod_is_one_finding_with_all_reasons() {
    let probes = probe("livenessProbe", "htpt")
        + &probe("readinessProbe", "htpt")
        + "      startupProbe: {httpGet: {path: /, port: 8080, host: db.example}}\n";
    let text = NAMESPACE.to_owned() + &pod("web", "", &probes);
    let project = Project::with(&[("web.yaml", &text)]);
    let run = project
        .run(&["rewrite", "--diff", "--form", "container-only", "web.yaml"])
        .exits(1);
    assert_eq!(run.stderr.matches("error[").count(), 1, "{}", run.stderr);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "error[port-unresolved]: Pod/web is not rewritten: (1) livenessProbe of container `web`, readinessProbe of container `web`: ",
        "; (2) startupProbe of container `web`: ",
        "(2) `probe-host`",
        "0 of 1 workload would be rewritten, 1 refused.",
    ] {
        assert!(message.contains(part), "{part}\n{message}");
    }
    // A guard with the level `ignore` is left out of the finding, but still refuses the pod.
    project.write(
        ".meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: x}\nspec: {rules: {port-unresolved: ignore}}\n",
    );
    project
        .run(&["rewrite", "--diff", "--form", "container-only", "web.yaml"])
        .exits(1)
        .stderr_contains("error[probe-host]: Pod/web is not rewritten: startupProbe")
        .stderr_contains("0 of 1 workload would be rewritten, 1 refused.");
}

#[test]
fn the_results_of_the_function_have_the_same_counts() {
    let items: String = six()
        .split("---\n")
        .map(|item| {
            let indented = item.trim_end().replace('\n', "\n  ");
            format!("- {indented}\n")
        })
        .collect();
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let run = Project::new().pipe(&["krm"], &list);
    let output: Value = serde_yaml::from_str(&run.stdout).unwrap();
    let results = output["results"].as_array().unwrap();
    let sum = results.last().unwrap();
    assert_eq!(sum["message"], format!("{SUM}."));
    for (tag, count) in [
        ("workloads", "6"),
        ("rewritten", "1"),
        ("refused", "2"),
        ("opted-out", "1"),
        ("need-nothing", "2"),
    ] {
        assert_eq!(sum["tags"][tag], count, "{tag}");
    }
    let refused = results.iter().filter(|result| {
        result["message"]
            .as_str()
            .unwrap()
            .contains("is not rewritten")
    });
    assert_eq!(refused.count(), 2);
}

/// Checks that the numbers of a sum such as "1 of 6 workloads rewritten, 2 refused, 3 need nothing" add up.
fn assert_adds_up(sum: &str) {
    let (counts, _) = sum.split_once('.').unwrap();
    let (changed, rest) = counts.split_once(" of ").unwrap();
    let mut parts = rest.split(", ").map(|part| {
        let (number, _) = part.split_once(' ').unwrap();
        number.parse::<usize>().unwrap()
    });
    let all = parts.next().unwrap();
    let changed: usize = changed.parse().unwrap();
    assert_eq!(changed + parts.sum::<usize>(), all, "{sum}");
}

/// `clusters/prod-eu` deploys files of other folders: they are named, and not edited.
#[test]
fn workloads_that_the_given_paths_only_deploy_are_named() {
    let project = platform();
    let file = "apps/storefront/deployment.yaml";
    let opted_out = project.read(file);
    let key = "sidecar.istio.io/rewriteAppHTTPProbers";
    let opted_in = opted_out.replace(&format!("{key}: \"false\""), &format!("{key}: \"true\""));
    assert_ne!(opted_in, opted_out);
    project.write(file, &opted_in);
    let run = project
        .run(&["rewrite", "--diff", "clusters/prod-eu"])
        .exits(1);
    assert_eq!(run.stdout, "");
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        format!(
            "error[context-only]: Deployment/storefront is not rewritten: `{file}` is not in the given paths"
        ),
        format!("help: to edit it, add `{file}` to the paths"),
    ] {
        assert!(message.contains(&part), "{part}\n{message}");
    }
    let refused = run.stderr.matches("error[context-only]").count();
    let sum = last_line(&run.stderr);
    assert!(refused > 1, "{}", run.stderr);
    assert!(sum.contains(&format!(", {refused} refused")), "{sum}");
    // Its owner has switched the rewrite off, so there is nothing to do in the file, but the sum counts it.
    assert!(!run.stderr.contains("Deployment/orders"), "{}", run.stderr);
    assert!(sum.contains(" opted out"), "{sum}");
    assert_adds_up(sum);
    let predicted = ["predict", "--output-format", "json", "clusters/prod-eu"];
    let predicted: Value = serde_json::from_str(&project.run(&predicted).stdout).unwrap();
    let workloads = predicted["workloads"].as_array().unwrap().len();
    let of = format!("0 of {workloads} workloads would be rewritten, ");
    assert!(sum.starts_with(&of), "{sum}\n{of}");
    // With the file, the workload is rewritten, and an undo of the cluster alone names it again.
    let paths = ["clusters", file];
    let write = ["rewrite", "--write", paths[0], paths[1]];
    let run = project.run(&write);
    assert!(
        !run.stderr.contains("Deployment/storefront is not"),
        "{}",
        run.stderr
    );
    assert!(
        project.read(file).contains("/app-health/"),
        "{}",
        run.stderr
    );
    let run = project.run(&["rewrite", "--undo", "--diff", "clusters/prod-eu"]);
    run.exits(1)
        .stderr_contains("error[context-only]: the rewrite of Deployment/storefront is not undone")
        .stderr_contains("would be restored, 1 refused");
}

#[test]
fn an_empty_folder_cannot_be_rewritten() {
    let project = Project::new();
    for arguments in [&["rewrite", "."][..], &["rewrite", "--diff", "."]] {
        let run = project.run(arguments).exits(2);
        let run = run.stderr_contains("error: no manifest found");
        assert_eq!(run.stdout, "");
    }
}
