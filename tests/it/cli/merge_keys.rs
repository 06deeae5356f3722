//! What a merge key brings in counts like what is written.

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
fn a_handler_may_come_by_a_merge_key() {
    for key in ["<<", "!!merge <<"] {
        let project = Project::with(&[("web.yaml", &merged(key))]);
        project
            .run(&["check", "--mesh", "none"])
            .exits(0)
            .says("No findings");
    }
    // What the base lacks is missing all the same.
    let bare = merged("<<").replace("httpGet: {path: /, port: 80}", "timeoutSeconds: 2");
    Project::with(&[("web.yaml", &bare)])
        .run(&["check", "--output-format", "concise"])
        .exits(1)
        .says("web.yaml:10:7: error[probe-field-invalid]");
}

#[test]
fn two_handlers_are_two_wherever_they_come_from() {
    let two = merged("<<").replace("periodSeconds: 5", "tcpSocket: {port: 81}");
    Project::with(&[("web.yaml", &two)])
        .run(&["check", "--output-format", "concise"])
        .exits(1)
        .says("error[probe-two-handlers]");
}
