//! Sends requests about positions of documents.

use serde_json::{Value, json};

use super::editor::Editor;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

/// The URI-less name of the file with the Namespace and the policy.
pub(super) const MESH: &str = "mesh.yaml";
/// The name of the file with the pod.
pub(super) const WEB: &str = "web.yaml";

/// Returns a project in which mutual TLS breaks the probe of a pod.
pub(super) fn broken_project() -> Project {
    Project::with(&[(MESH, &mesh()), (WEB, NOT_REWRITTEN)])
}

/// Returns the text of [`MESH`].
pub(super) fn mesh() -> String {
    join(&[INJECTED, STRICT])
}

/// Returns the position of a part of a text, in code units of UTF-16.
pub(super) fn position_of(text: &str, part: &str) -> Value {
    position_in(text, part, |line| line.encode_utf16().count())
}

/// Returns the position of a part of a text, in bytes.
pub(super) fn byte_position_of(text: &str, part: &str) -> Value {
    position_in(text, part, str::len)
}

fn position_in(text: &str, part: &str, width: fn(&str) -> usize) -> Value {
    let before = text.split_once(part).expect(part).0;
    let (line, start) = match before.rfind('\n') {
        Some(end) => (before[..=end].lines().count(), end + 1),
        None => (0, 0),
    };
    json!({ "line": line, "character": width(&before[start..]) })
}

impl Editor<'_> {
    /// Sends a request about a position of a document.
    pub(super) fn ask_at(&mut self, method: &str, path: &str, position: &Value) -> Value {
        let mut params = json!({
            "textDocument": { "uri": self.uri(path) },
            "position": position,
        });
        if method == "references" {
            params["context"] = json!({ "includeDeclaration": false });
        }
        self.request(&format!("textDocument/{method}"), params)
            .unwrap()
    }

    /// Sends a request about the position of a part of a document.
    pub(super) fn ask(&mut self, method: &str, path: &str, text: &str, part: &str) -> Value {
        self.ask_at(method, path, &position_of(text, part))
    }

    /// Returns the Markdown of the hover at a part of a document; empty without one.
    pub(super) fn hover(&mut self, path: &str, text: &str, part: &str) -> String {
        let hover = self.ask("hover", path, text, part);
        hover["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Returns `path:line: text` for each location, with the text of its range.
pub(super) fn texts_at(editor: &Editor<'_>, locations: &Value) -> Vec<String> {
    let locations = locations.as_array().into_iter().flatten();
    let shown = locations.map(|location| {
        let uri = location["uri"].as_str().unwrap();
        let path = uri.strip_prefix(&format!("{}/", editor.uri(""))).unwrap();
        let text = editor.project.read(path);
        let number = |end: &str, field: &str| {
            usize::try_from(location["range"][end][field].as_u64().unwrap()).unwrap()
        };
        let line = text.lines().nth(number("start", "line")).unwrap();
        let part = &line[number("start", "character")..number("end", "character")];
        format!("{path}:{}: {part}", number("start", "line") + 1)
    });
    shown.collect()
}
