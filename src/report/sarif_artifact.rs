//! Addresses of files in SARIF (3.4).

use meshprobe_tree::source::SourceSet;
use serde_json::{Value, json};

use super::report_root::{ReportPath, ReportRoot};

/// Returns the location of a file: relative to the root of the report, or absolute.
pub(super) fn artifact(set: &SourceSet, root: &ReportRoot, path: &str) -> Value {
    match root.locate(set, path) {
        ReportPath::Within(path) => json!({ "uri": encoded(&path), "uriBaseId": "%SRCROOT%" }),
        ReportPath::Outside(path) => {
            let slash = if path.starts_with('/') { "" } else { "/" };
            json!({ "uri": format!("file://{slash}{}", encoded(&path)) })
        }
    }
}

/// Encodes a path as a URI. All characters that may have a special meaning are encoded, such as a colon.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
