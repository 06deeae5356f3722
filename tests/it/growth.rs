//! Time and memory for input that multiplies. The generators are those of `benches/growth.rs`.
//!
//! Times are compared with each other, not with a fixed limit: four times the input may take at most nine times as
//! long. Linear growth is a ratio of four, quadratic growth a ratio of sixteen.

#[path = "../../fixtures/hostile/generators/mod.rs"]
#[allow(
    unreachable_pub,
    dead_code,
    reason = "shared with the benchmark, which uses more of it"
)]
mod generators;

use std::path::Path;

use generators::measure::{Run, check, seconds, seconds_of};
use generators::{AXES, LOADS};

use crate::support::PROGRAM;

/// The limit for the ratio of the times, for four times the input.
const BOUND: f64 = 9.0;
/// Shorter runs are not compared (in seconds).
const SHORTEST: f64 = 0.02;
/// How often a ratio is measured if it is over the limit.
const ATTEMPTS: usize = 8;
/// The limit for the peak memory of the program, in MiB.
const MEMORY: u64 = 512;

fn grows_slowly(name: &str, size: usize) {
    let axis = AXES.iter().find(|axis| axis.name == name).unwrap();
    let program = Path::new(PROGRAM);
    let ratio = || {
        let empty = seconds(program, axis, 1);
        let small = (seconds(program, axis, size) - empty).max(SHORTEST);
        (seconds_of(program, axis, size * 4, 1) - empty) / small
    };
    // Another program that uses the cache of the processor, such as a browser in a step that runs at the same time, makes a
    // run slower, never faster, so the large run is repeated only if it is too slow.
    let ratios: Vec<f64> = (0..ATTEMPTS)
        .map(|_| ratio())
        .take_while(|ratio| *ratio >= BOUND)
        .collect();
    assert!(ratios.len() < ATTEMPTS, "{name}: {ratios:?}");
}

macro_rules! axes {
    ($runner:literal: $($test:ident: $name:literal, $size:literal;)*) => {
        $(
            #[test]
            #[ignore = $runner]
            fn $test() {
                grows_slowly($name, $size);
            }
        )*

        /// The axes that have a test in this list.
        pub(super) const TESTED: &[&str] = &[$($name),*];
    };
}

axes! {
    "slow: `cargo test -- --include-ignored` and .ci/test run it":
    containers: "containers", 50;
    containers_fixed: "containers, --diff", 50;
    items_of_a_list: "kind: List", 50;
    items_of_a_function: "ResourceList", 50;
    documents: "documents", 100;
    nested_brackets: "nested brackets", 60;
    outdented_scalars: "outdented scalars", 50;
    services: "Services", 150;
    peer_authentications: "PeerAuthentications", 100;
    authorization_policies: "AuthorizationPolicies", 50;
    ignore_entries: "ignore entries", 100;
    scopes: "scopes", 100;
    folders: "folders", 150;
    missing_deployed_folders: "missing deployed folders", 100;
    patches: "patches", 150;
    overlays_of_one_workload: "overlays of one workload", 100;
    items_of_a_named_file: "named files", 50;
}

/// Axes that grow with the square of the input, because no repository has hundreds of control planes, or of policies that apply
/// to one pod.
const QUADRATIC: &[&str] = &[
    "PeerAuthentications, one selector",
    "PeerAuthentications, one namespace",
    "PeerAuthentications, many labels",
    "AuthorizationPolicies, one namespace",
    "AuthorizationPolicies, many labels",
    "AuthorizationPolicies, a path of each workload",
    "port-level modes",
    "NetworkPolicies",
    "NetworkPolicies, private addresses",
    "NetworkPolicies, ambient mode",
    "IstioOperators",
    "IstioOperators, revisions that are not served",
    "Applications of istiod",
    "Applications of istiod, one revision",
    "Applications of istiod, different values",
    "webhooks",
    "MutatingWebhookConfigurations",
];

#[test]
fn every_axis_is_tested_once() {
    for axis in AXES {
        let lists = [TESTED, nightly::TESTED, QUADRATIC];
        let count = lists
            .iter()
            .filter(|list| list.contains(&axis.name))
            .count();
        assert_eq!(count, 1, "{}", axis.name);
    }
}

fn loaded(name: &str) -> Run {
    loaded_with(name, &["-q"])
}

fn loaded_with(name: &str, options: &[&str]) -> Run {
    let load = LOADS.iter().find(|load| load.name == name).unwrap();
    let run = check(Path::new(PROGRAM), &(load.files)(), options);
    assert!(run.code.is_some(), "{name}: {}", run.output);
    assert!(run.peak / 1024 < MEMORY, "{name}: {} MiB", run.peak / 1024);
    run
}

/// Checks that the run ends within the limit, with a finding.
fn reports(name: &str, finding: &str) {
    let run = loaded(name);
    assert_eq!(run.code, Some(1), "{}", run.output);
    assert!(run.output.contains(finding), "{}", run.output);
}

fn reports_overlays(name: &str) {
    reports(name, "overlay-left-out");
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn levels_of_kustomizations_stay_within_the_memory_limit() {
    reports_overlays("10 kustomizations per level, 25 levels");
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn workloads_times_overlays_stay_within_the_memory_limit() {
    reports_overlays("300 workloads, 300 overlays");
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn copies_of_a_folder_stay_within_the_memory_limit() {
    reports_overlays("700 workloads, 700 Argo CD Applications");
    reports_overlays("700 workloads in a base, 700 Argo CD Applications of an overlay");
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn applications_with_one_target_are_checked_once() {
    let run = loaded("60 workloads, an ApplicationSet of 60 times 60");
    assert!(!run.output.contains("overlay-left-out"), "{}", run.output);
    assert!(run.peak / 1024 < 96, "{} MiB", run.peak / 1024);
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn lines_of_a_template_do_not_repeat_the_keys_above_them() {
    let run = loaded("a template of 60,000 lines below a key of 300,000 bytes");
    assert_eq!(run.code, Some(1), "{}", run.output);
    assert!(
        run.output.contains("shop/templates/web.yaml"),
        "{}",
        run.output
    );
    assert!(run.peak / 1024 < 96, "{} MiB", run.peak / 1024);
}

/// Loads that take minutes, and variants of the axes above: .ci/nightly runs them.
mod nightly {
    use super::{grows_slowly, reports, reports_overlays};

    axes! {
        "takes minutes: .ci/nightly runs it":
        containers_suppressed_by_comments: "containers, suppressed by comments", 25;
        items_of_a_list_fixed: "kind: List, --diff", 50;
        documents_of_a_template: "templates", 50;
        containers_suppressed_by_annotation: "containers, suppressed by annotation", 50;
        containers_in_sarif: "containers, SARIF", 50;
        containers_rewritten: "containers, rewrite", 100;
        native_sidecars: "native sidecars", 100;
        unresolved_port_names: "unresolved port names", 100;
        prober_env_entries: "prober env entries", 100;
        prober_env_entries_of_a_second_injection: "prober env entries, injected again", 100;
        unresolved_port_names_are_checked: "unresolved port names, check", 100;
        excluded_ports: "excluded ports", 100;
        items_of_a_list_in_sarif: "kind: List, SARIF", 50;
        items_of_a_list_in_json: "kind: List, JSON", 50;
        items_of_a_list_rewritten: "kind: List, rewrite", 50;
        documents_fixed: "documents, --diff", 50;
        documents_suppressed: "documents, suppressed by comments", 100;
        peer_authentications_of_a_rewrite: "PeerAuthentications, rewrite", 100;
        strategic_patches: "strategic patches", 150;
        deleting_patches: "deleting patches", 150;
        patches_of_env: "patches of env", 50;
        patches_of_ports: "patches of ports", 50;
        components_with_labels: "components with labels", 100;
        envoy_filters: "EnvoyFilters", 150;
        sidecars: "Sidecars", 150;
        linkerd_servers: "Linkerd Servers", 100;
        kuma_policies: "Kuma policies", 100;
        workload_groups: "WorkloadGroups", 100;
        namespaces: "Namespaces", 150;
        rules_of_scopes: "rules of scopes", 100;
        kustomizations_in_one: "kustomizations in one", 150;
        proxy_config: "proxy.istio.io/config", 100;
        images: "images", 150;
        overlays_with_policies: "overlays with policies", 50;
        images_of_one_registry: "images of one registry", 150;
        replacements: "replacements", 200;
        labels_of_a_kustomization: "labels", 250;
        common_labels: "commonLabels", 250;
        common_labels_set_again: "commonLabels, set again", 250;
        common_annotations: "commonAnnotations", 250;
        configurations: "configurations", 200;
        prober_env_entries_undone: "prober env entries, undone", 200;
        authorization_policies_for_a_port: "AuthorizationPolicies, a port of each workload", 250;
        authorization_policies_for_a_direct_path: "AuthorizationPolicies, a path of each direct probe", 250;
        labels_of_one_selector: "labels of one selector", 400;
    }

    #[test]
    #[ignore = "takes minutes: .ci/nightly runs it"]
    fn folders_that_flux_deploys_stay_within_the_memory_limit() {
        reports_overlays("700 workloads, 700 Flux Kustomizations");
    }

    fn leaves_files_out(name: &str) {
        reports(name, "file-left-out");
    }

    #[test]
    #[ignore = "takes minutes: .ci/nightly runs it"]
    fn a_dense_file_stays_within_the_memory_limit() {
        leaves_files_out("a list of 50,000,000 items");
    }

    #[test]
    #[ignore = "takes minutes: .ci/nightly runs it"]
    fn dense_files_stay_within_the_memory_limit_together() {
        leaves_files_out("20 lists of 5,000,000 items");
    }

    #[test]
    #[ignore = "takes minutes: .ci/nightly runs it"]
    fn short_documents_stay_within_the_memory_limit() {
        leaves_files_out("3,000,000 documents of one line");
    }
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn the_files_left_out_do_not_depend_on_threads() {
    let files = generators::LOADS[1].files;
    let run = |threads: &str| {
        let arguments = ["--threads", threads, "--output-format", "concise"];
        check(Path::new(PROGRAM), &files(), &arguments).output
    };
    let single = run("1");
    assert!(single.contains("overlay-left-out"), "{single}");
    assert_eq!(single, run("4"));
}
