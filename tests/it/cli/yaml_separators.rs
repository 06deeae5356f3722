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
