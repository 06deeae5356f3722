//! Lines between documents, at which kubectl and kustomize split a file before they parse it.

use crate::support::Run;
use crate::support::manifest::INJECTED;
use crate::support::project::Project;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec:\n  containers:\n  \
                   - name: web\n    livenessProbe: {httpGet: {path: /, port: 80}}\n";
const OTHER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

fn check(text: &str) -> Run {
    let project = Project::with(&[("ns.yaml", INJECTED), ("web.yaml", text)]);
    project.run(&["check", "--output-format", "concise"])
}

#[test]
fn the_end_of_a_document_at_the_start_of_a_part_is_a_syntax_error() {
    for (text, place) in [
        (format!("...\n{POD}"), "1:1"),
        (format!("...\n---\n{POD}"), "1:1"),
        (format!("# c\n\n... # d\n---\n{POD}"), "3:1"),
        (format!("\u{feff}...\n---\n{POD}"), "1:1"),
        (format!("...\r\n---\r\n{POD}"), "1:1"),
        (format!("{OTHER}---\n...\n---\n{POD}"), "5:1"),
        (format!("{OTHER}---\n# c\n...\n{POD}"), "6:1"),
        (format!("{OTHER}...\n---\n...\n---\n{POD}"), "6:1"),
        (format!("{POD}---\n..."), "9:1"),
        (format!("---\n---\n...\n---\n{POD}"), "3:1"),
    ] {
        check(&text)
            .exits(1)
            .stdout_contains(&format!("web.yaml:{place}: error[syntax-error]"));
    }
    for text in [
        format!("{POD}...\n"),
        format!("{POD}...\n...\n# c\n"),
        format!("---\n...\n---\n{POD}"),
        format!("{OTHER}...\n---\n{POD}...\n"),
        format!("{OTHER}...\n# c\n... # d\n---\n{POD}"),
        format!("{OTHER}---\n---\n...\n---\n{POD}"),
        // A carriage return ends the comment.
        format!("# c\r{{apiVersion: v1, kind: ConfigMap}}\n...\n---\n{POD}"),
    ] {
        let run = check(&text).exits(0).stdout_contains("1 workload");
        assert!(!run.stdout.contains("error["), "{text}{}", run.stdout);
    }
    // Files of other tools.
    for text in ["...\na: b\n", "a: b\n---\n...\n", "%YAML 1.1\n---\na: b\n"] {
        let run = check(text).exits(0);
        assert!(!run.stdout.contains("error["), "{text}{}", run.stdout);
    }
}

#[test]
fn directives_of_a_manifest_are_a_syntax_error() {
    for (text, place) in [
        (format!("%YAML 1.1\n---\n{POD}"), "1:1"),
        (format!("# c\n%TAG ! !a\n---\n{POD}"), "2:1"),
        (format!("{OTHER}---\n%YAML 1.1\n---\n{POD}"), "5:1"),
    ] {
        check(&text)
            .exits(1)
            .stdout_contains(&format!("web.yaml:{place}: error[syntax-error]"));
    }
    // kubectl reads only the first document of a part.
    let run = check(&format!("{OTHER}...\n%YAML 1.1\n---\n{POD}"));
    run.exits(0).stdout_contains("1 workload");
}

#[test]
fn a_value_behind_a_marker_is_reported() {
    let flow = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: web}]}}\n";
    for (text, place) in [
        (format!("{OTHER}--- {flow}"), "4:1"),
        (
            format!("{OTHER}---\n{POD}    workingDir: \"a\n---b\"\n"),
            "13:1",
        ),
    ] {
        check(&text)
            .exits(1)
            .stdout_contains(&format!("web.yaml:{place}: error[syntax-error]"));
    }
    // kustomize accepts it in the first line of a file.
    check(&format!("--- {flow}"))
        .stdout_contains("web.yaml:1:1: ")
        .stdout_contains("kubectl rejects a value in the line of `---`");
}

#[test]
fn a_comment_can_touch_a_marker_that_splits_a_file() {
    for text in [
        format!("{OTHER}---# c\n{POD}"),
        format!("{OTHER}---#c: d\r\n{POD}"),
        format!("# c\n---#c\n{POD}"),
        format!("{OTHER}---\u{a0}\n{POD}"),
        format!("{POD}---# c\n"),
        format!("{POD}---# c\n---\n---# d\n{OTHER}"),
    ] {
        let project = Project::with(&[("ns.yaml", INJECTED), ("web.yaml", &text)]);
        let run = project.run(&["check", "--output-format", "concise"]);
        let run = run.exits(0).stdout_contains("1 workload");
        assert!(!run.stdout.contains("error["), "{text}{}", run.stdout);
        project.assert_reversible("web.yaml");
    }
    // Not a separator: the first line of a file, and the line behind a separator.
    for text in [
        format!("---# c\n{POD}"),
        format!("{OTHER}---\n---# c\n{POD}"),
    ] {
        check(&text).exits(1).stdout_contains("error[syntax-error]");
    }
}

#[test]
fn shared_text_behind_a_touching_comment_is_rewritten() {
    let shared = POD.replace("{httpGet", "&probe {httpGet") + "    readinessProbe: *probe\n";
    for separator in ["---# c", "---#", "---\u{a0}", "---\u{a0}# \u{e9}"] {
        for text in [
            format!("{OTHER}{separator}\n{shared}"),
            format!("{OTHER}{separator}\r\n{shared}"),
            format!("{OTHER}{separator}\n\u{feff}{shared}"),
            // The edit is verified with a final line break.
            format!("{OTHER}{separator}\n{shared}    workingDir: |\n      a"),
        ] {
            let project = Project::with(&[("ns.yaml", INJECTED), ("web.yaml", &text)]);
            project
                .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
                .exits(0);
            let rewritten = project.read("web.yaml");
            assert!(rewritten.contains("/app-health/web/readyz"), "{rewritten}");
            assert!(rewritten.contains(&format!("{OTHER}{separator}")));
        }
    }
}
