//! The labels and annotations of meshes, with their documentation.

use gen_lsp_types::{MarkupContent, MarkupKind};
use meshprobe_mesh::finding::docs_url;
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::{KeyMap, KeyOwner, KnownKey, Mesh, known_keys};

use crate::insight::Cursor;
use meshprobe_engine::engine;

/// Returns the documentation of the label or annotation at a position.
pub(super) fn at(cursor: &Cursor<'_>) -> Option<String> {
    let [entry, map, metadata, ..] = cursor.entries.as_slice() else {
        return None;
    };
    let (name, field) = (entry.key.text()?, map.key.text()?);
    let map = [KeyMap::Labels, KeyMap::Annotations]
        .into_iter()
        .find(|map| map.field() == field)?;
    let object = cursor.object.as_ref()?;
    let owner = match object.kind {
        "Namespace" => KeyOwner::Namespace,
        _ => {
            let template = Workload::from_object(object)?.template;
            let own = template.node.get("metadata");
            (own == Some(metadata.value)).then_some(KeyOwner::Pod)?
        }
    };
    let mut keys = known_keys().filter(|(_, key)| key.name == name && key.is_for(map, owner));
    keys.next().map(|(mesh, key)| documentation(mesh, key))
}

/// Returns the documentation of a key in Markdown.
pub(super) fn documentation(mesh: Mesh, key: &KnownKey) -> String {
    let mut out = format!("`{}` ({})\n\n{}", key.name, mesh.title(), key.meaning);
    if !key.values.is_empty() {
        out.push_str(&format!("\n\nValues: `{}`", key.values.join("`, `")));
    }
    let all = engine::explained();
    let rules = key.rules.iter().filter_map(|name| {
        let rule = all.iter().find(|rule| rule.id.as_str() == *name)?;
        Some(format!("[{name}]({})", docs_url(rule.id)))
    });
    let rules: Vec<String> = rules.collect();
    if !rules.is_empty() {
        out.push_str(&format!("\n\nRules: {}", rules.join(", ")));
    }
    out
}

/// Returns a text in Markdown.
pub(super) fn markup(value: String) -> MarkupContent {
    MarkupContent {
        kind: MarkupKind::Markdown,
        value,
    }
}
