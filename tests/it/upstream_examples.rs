//! The examples of Istio's documentation and of users that this project started from: the results of check,
//! predict and rewrite for each.

use std::path::Path;

use crate::support::{Run, findings, meshprobe};

fn run(arguments: &[&str], file: &str) -> Run {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sources");
    let (command, options) = arguments.split_first().unwrap();
    let all = [
        &[*command, "--isolated", "--color", "never"],
        options,
        &[file],
    ]
    .concat();
    meshprobe(&folder, &all, "")
}

/// Returns the complete output for a user, with the command line.
fn shown(arguments: &[&str], file: &str) -> String {
    let run = run(arguments, file);
    let line = format!("$ meshprobe {} {file}\n{}", arguments.join(" "), run.stdout);
    let stderr = if run.stderr.is_empty() {
        String::new()
    } else {
        format!("--- stderr\n{}", run.stderr)
    };
    format!("{line}{stderr}--- exit {}\n\n", run.code)
}

fn snapshot(file: &str, lines: &[&[&str]]) {
    let text: String = lines.iter().map(|line| shown(line, file)).collect();
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!(file.trim_end_matches(".yaml"), text);
    });
}

#[test]
fn an_http_probe_under_strict() {
    let file = "liveness-http.yaml";
    snapshot(
        file,
        &[
            &["check"],
            &["predict"],
            &["rewrite", "--diff", "--mesh-version", "1.28"],
        ],
    );
    // The result that the example came with.
    let env = r#"{"/app-health/liveness-http/livez":{"httpGet":{"path":"/foo","port":8001,"scheme":"HTTP"},"timeoutSeconds":1}}"#;
    let container = run(
        &["rewrite", "--form", "container", "--mesh-version", "1.10"],
        file,
    );
    assert!(container.stdout.contains(env), "{}", container.stdout);
    assert!(
        container
            .stdout
            .contains("path: /app-health/liveness-http/livez")
    );
    assert!(container.stdout.contains("port: 15020"));
}

/// The tree does not show that the pod is in a mesh, so the outcome of its probes is unknown.
#[test]
fn tcp_probes_of_a_pod() {
    let inside = "injection=all";
    snapshot(
        "goproxy-pod.yaml",
        &[
            &["check"],
            &["predict"],
            &["rewrite"],
            &["check", "--assume", inside],
            &["predict", "--assume", inside],
            &["predict", "--assume", inside, "--override", "rewrite=false"],
            &["rewrite", "--assume", inside, "--mesh-version", "1.28"],
        ],
    );
}

#[test]
fn the_workarounds_of_the_first_years() {
    let file = "legacy-istio-1.0.yaml";
    let strict = ["--assume", "injection=all", "--assume", "mtls=STRICT"];
    let release = ["--mesh-version", "1.28"];
    let with = |command: &'static str, more: &[&'static str]| {
        [&[command], &strict[..], &release, more].concat()
    };
    snapshot(
        file,
        &[
            &["check"],
            &["check", "--diff", "--unsafe-fixes"],
            &["predict"],
            &["rewrite"],
            &with("check", &[]),
            &with("check", &["--diff", "--unsafe-fixes"]),
            &with("predict", &[]),
            &with("rewrite", &["--diff"]),
        ],
    );
    let json = findings(&run(&["check", "--output-format", "json"], file));
    let rules: Vec<&str> = json
        .iter()
        .filter_map(|finding| finding["rule"].as_str())
        .collect();
    for rule in ["legacy-auth-annotation", "exec-curl-to-itself"] {
        assert!(rules.contains(&rule), "{rules:?}");
    }
}

#[test]
fn three_kinds_of_probes_under_osm() {
    snapshot(
        "osm-three-probes.yaml",
        &[
            &["check"],
            &["predict"],
            &["rewrite"],
            &["rewrite", "--preview", "--diff"],
        ],
    );
}

#[test]
fn the_health_check_of_virtual_machines() {
    snapshot(
        "workloadgroup-reviews.yaml",
        &[
            &["check"],
            &["check", "--mesh-version", "1.23"],
            &["check", "--mesh-version", "1.28"],
            &["predict"],
            &["rewrite", "--vm"],
        ],
    );
}
