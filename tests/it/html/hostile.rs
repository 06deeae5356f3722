//! Text of manifests that tries to become markup.

use crate::support::project::Project;

use super::parsed::{Part, content, parts, text};

/// Values that end elements, attributes and comments, start scripts, change the direction of text, and command CI systems.
const HOSTILE: &[&str] = &[
    "</script><script>alert(1)</script>",
    "<!--",
    "--><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' style='color:red",
    "&lt;b&gt;&#x3c;",
    "</style><b>",
    "`</code>`<i>",
    "##vso[task.complete]",
    "\\u202Eabc\\u2028\\u200B\\u0085",
];

fn manifest(number: usize, value: &str) -> String {
    // JSON strings are YAML strings.
    let value = value
        .replace('\\', "\\\\")
        .replace("\\\\u", "\\u")
        .replace('"', "\\\"");
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: \"web-{number}{value}\", namespace: \"n{value}\"}}\n\
         spec:\n  template:\n    metadata:\n      annotations: {{sidecar.istio.io/rewriteAppHTTPProbers: \"false\", \"x{value}\": \"{value}\"}}\n\
         \x20   spec:\n      containers:\n        - name: \"c{value}\"\n          readinessProbe: {{httpGet: {{path: \"/{value}\", port: \"{value}\", host: \"{value}\"}}}}\n\
         \x20         livenessProbe: {{tcpSocket: {{port: 80}}}}\n\
         ---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: \"app-{number}{value}\", namespace: shop}}\n\
         spec:\n  template:\n    metadata:\n      annotations: {{sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}}\n\
         \x20   spec:\n      containers:\n        - name: web\n          readinessProbe: {{httpGet: {{path: \"/{value}\", port: 80}}}}\n"
    )
}

fn project() -> Project {
    let project = Project::new();
    for (number, value) in HOSTILE.iter().enumerate() {
        project.write(&format!("{number}.yaml"), manifest(number, value));
    }
    #[cfg(unix)]
    project.write("<b onclick=alert(1)>&'\".yaml", manifest(99, "plain"));
    project
}

#[test]
fn text_of_manifests_is_not_markup() {
    let project = project();
    for command in [
        &["check", "--output-format", "html"][..],
        &["predict", "--output-format", "html"],
        &[
            "diff",
            "--output-format",
            "html",
            "--from",
            "mtls=STRICT",
            "--to",
            "mtls=PERMISSIVE",
        ],
    ] {
        let arguments: Vec<&str> = command
            .iter()
            .copied()
            .chain(["--assume", "injection=all"])
            .collect();
        let html = project.run(&arguments).stdout;
        let parts = parts(&html);
        let text = text(&parts);
        assert!(
            text.contains("</script><script>alert(1)</script>"),
            "{command:?}"
        );
        // Elements occur once: nothing ends them early, and nothing starts another one.
        for element in ["script", "style"] {
            content(&html, element);
        }
        assert!(!html.contains("<!--") && !html.contains("##vso["));
        let is_plain =
            |c: char| c == '\n' || !(c.is_control() || ('\u{200b}'..='\u{202e}').contains(&c));
        assert!(html.chars().all(is_plain), "{command:?}");
    }
}

#[test]
fn nothing_is_loaded_and_no_text_becomes_an_address() {
    let html = project()
        .run(&[
            "check",
            "--output-format",
            "html",
            "--assume",
            "injection=all",
        ])
        .stdout;
    for part in parts(&html) {
        let Part::Start(name, attributes) = part else {
            continue;
        };
        assert!(!attributes.contains_key("src"), "<{name}>");
        let Some(address) = attributes.get("href") else {
            continue;
        };
        assert_eq!(name, "a");
        let is_own = address.starts_with('#') || address.starts_with(env!("CARGO_PKG_REPOSITORY"));
        assert!(is_own, "{address}");
    }
}
