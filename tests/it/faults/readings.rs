//! Text that YAML parsers read differently, and text that an undo could not restore.

use super::page;
use super::scene::{NAMESPACE, check, deployment, rewrite, row, shell};
use crate::support::project::Project;

const PATH: &str = "httpGet: {path: /healthz, port: 8080}";

/// A Namespace and a Deployment with the given handler.
fn probed(handler: &str) -> Project {
    let text = deployment("web").replace(PATH, handler);
    Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &text)])
}

/// A Deployment with `lines` at the end of the metadata of its template.
fn with_metadata(lines: &str) -> Project {
    let labels = "    metadata: {labels: {app: web}}\n";
    let text = deployment("web").replace(labels, &format!("    metadata:\n{lines}"));
    Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &text)])
}

/// A Deployment whose metadata comes last and ends with a block scalar without a line break.
fn unterminated_block_scalar() -> Project {
    let labels = "    metadata: {labels: {app: web}}\n";
    let text = deployment("web").replace(labels, "");
    let end = "    metadata:\n      annotations:\n        note: |\n          text";
    Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &(text + end))])
}

fn merge_below() -> Project {
    let text = deployment("web").replace(PATH, "httpGet: {path: /ready, <<: *probe}");
    let text = format!("x-probe: &probe {{path: /healthz, port: 8080}}\n{text}");
    Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &text)])
}

fn continued_at_key_indentation() -> Project {
    with_metadata("      annotations: {}\n      name: \"a b\n      c\"\n")
}

fn json_stream() -> Project {
    let service = |name: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Service", "metadata": {{"name": "{name}", "namespace": "shop"}}}}"#
        )
    };
    Project::with(&[
        ("ns.yaml", NAMESPACE),
        ("all.json", &format!("{}\n{}\n", service("a"), service("b"))),
    ])
}

#[test]
fn texts_that_parsers_read_differently() {
    page::check(
        "Readings",
        &[
            row(
                "a merge key below a key that it overrides",
                &merge_below(),
                1,
                "web.yaml",
                check,
            ),
            row(
                "the same merge key, rewritten",
                &merge_below(),
                1,
                "ambiguous-yaml",
                rewrite,
            ),
            row(
                "a field that the prober env cannot record, rewritten",
                &probed("grpc: {port: 9090, mode: TLS}"),
                1,
                "unrecorded-field",
                rewrite,
            ),
            row(
                "a block scalar that ends the file without a line break, with an edit after it",
                &unterminated_block_scalar(),
                1,
                "edit-refused",
                rewrite,
            ),
            row(
                "a quoted scalar that continues at the indentation of its key",
                &continued_at_key_indentation(),
                0,
                "No findings",
                check,
            ),
            row(
                "JSON objects without a marker between them",
                &json_stream(),
                0,
                "Nothing was judged",
                check,
            ),
        ],
    );
}

#[test]
fn a_pipe_is_read_although_another_file_exceeds_a_limit() {
    let project = Project::with(&[("ns.yaml", NAMESPACE)]);
    project.write(
        "pod.txt",
        deployment("web").replace("port: 8080", "port: 0"),
    );
    project.write("values.yaml", format!("a: [a{}]\n", ",a".repeat(1_100_000)));
    let run = shell(
        &project,
        "cat pod.txt | \"$0\" check --output-format concise /dev/stdin ns.yaml values.yaml",
    );
    let run = run.stdout_contains("file-left-out");
    assert!(
        run.stdout.contains("probe-port-out-of-range"),
        "{}",
        run.stdout
    );
}
