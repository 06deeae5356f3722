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

/// Uses of one anchor: as an alias, as a merge base, and in a list of merge bases, below the container or elsewhere.
const USES: [&str; 6] = [
    "      readinessProbe: *p\n      startupProbe: {<<: *p, failureThreshold: 30}\n",
    "      readinessProbe:\n        <<: *p\n        periodSeconds: 9\n      startupProbe: *p\n",
    "      readinessProbe: {httpGet: *h}\n      startupProbe: {httpGet: {<<: *h, path: /s}, failureThreshold: 30}\n",
    "      readinessProbe: {<<: [*p, *t]}\n      startupProbe: {<<: [*t, *p], failureThreshold: 30}\n",
    "    - <<: *c\n      name: second\n",
    "    - <<: *c\n      name: second\n      readinessProbe: *p\nx-container: *c\nx-probe: {<<: *p, a: b}\n",
];

#[test]
fn shared_text_is_not_edited() {
    let base = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nx-timing: &t {periodSeconds: 7}\nspec:\n  \
                containers:\n    - &c\n      name: web\n      image: web:1\n      livenessProbe: &p\n        \
                httpGet: &h {path: /h, port: 8080}\n        timeoutSeconds: 3\n";
    for uses in USES {
        let text = format!("{base}{uses}");
        for form in ["annotation", "container", "container-only"] {
            let project = Project::with(&[("web.yaml", &text)]);
            let options = ["--assume", "injection=all", "--mesh-version", "1.28"];
            let form = ["--form", form];
            let run = project.run(&[&["rewrite", "--write", "."], &options[..], &form].concat());
            run.exits(1)
                .stderr_contains("error[edit-refused]")
                .stderr_contains("cannot change shared text");
            assert_eq!(project.read("web.yaml"), text);
        }
    }
}
