//! Values that a merge key adds count like written values.

use crate::support::project::Project;

/// A pod whose readiness probe is its liveness probe with another period.
fn merged(key: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop}}\nspec:\n  containers:\n    \
         - name: web\n      image: web:1\n      livenessProbe: &probe\n        httpGet: {{path: /, port: 80}}\n      \
         readinessProbe:\n        {key}: *probe\n        periodSeconds: 5\n"
    )
}

#[test]
fn a_merge_key_can_add_a_handler() {
    for key in ["<<", "!!merge <<"] {
        let project = Project::with(&[("web.yaml", &merged(key))]);
        project
            .run(&["check", "--mesh", "none"])
            .exits(0)
            .stdout_contains("No findings");
    }
    // A field that the merged mapping lacks is missing nevertheless.
    let bare = merged("<<").replace("httpGet: {path: /, port: 80}", "timeoutSeconds: 2");
    Project::with(&[("web.yaml", &bare)])
        .run(&["check", "--output-format", "concise"])
        .exits(1)
        .stdout_contains("web.yaml:10:7: error[probe-field-invalid]");
}

#[test]
fn a_written_and_a_merged_handler_are_two_handlers() {
    let two = merged("<<").replace("periodSeconds: 5", "tcpSocket: {port: 81}");
    Project::with(&[("web.yaml", &two)])
        .run(&["check", "--output-format", "concise"])
        .exits(1)
        .stdout_contains("error[probe-two-handlers]");
}
