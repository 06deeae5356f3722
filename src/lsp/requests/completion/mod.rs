//! `textDocument/completion`: labels and annotations of meshes, their values, and rules in `# meshprobe: ignore[…]`.
//!
//! A line that is being typed often makes the document invalid, so the place is read from the lines of the text.

mod line_context;
mod place;

use gen_lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemTextEdit, CompletionParams, TextEdit,
};
use meshprobe_mesh::mesh::istio::known_names;
use meshprobe_mesh::mesh::{KeyMap, KeyOwner, Mesh, known_keys};
use meshprobe_yaml::Span;

use self::place::{Place, place};
use super::known_key::{documentation, markup};
use crate::engine;
use crate::lsp::analysis::Analysis;
use crate::lsp::encoding::Lines;
use crate::lsp::uri::path_of;
use crate::report::rule_page;

/// Returns what can be written at the position.
pub(super) fn answer(
    analysis: &Analysis<'_, '_>,
    params: &CompletionParams,
) -> Option<Vec<CompletionItem>> {
    let at = &params.text_document_position_params;
    let path = path_of(&at.text_document.uri)?;
    let buffer = analysis.buffers.get(&path)?;
    let text = buffer.shown_text();
    let lines = Lines::new(text, analysis.supports.encoding);
    let (place, typed) = place(text, lines.offset(at.position))?;
    let meshes = meshes(analysis);
    let items = match &place {
        Place::Key {
            map,
            owner,
            has_colon,
        } => keys((*map, *owner), *has_colon, &meshes),
        Place::Value { key, map, owner } => values(key, *map, *owner),
        Place::Rule => rules(),
    };
    let items = items.into_iter().map(|item| item.at(&lines, typed));
    Some(items.collect())
}

/// A text that can be written.
struct Candidate {
    label: String,
    written: String,
    kind: CompletionItemKind,
    detail: String,
    documentation: Option<String>,
    /// Whether it belongs to a mesh of which no pod of the workspace is part.
    is_remote: bool,
}

impl Candidate {
    fn at(self, lines: &Lines<'_>, typed: Span) -> CompletionItem {
        let edit = TextEdit {
            range: lines.range(typed),
            new_text: self.written,
        };
        CompletionItem {
            // What is typed may start with a quote.
            filter_text: Some(edit.new_text.clone()),
            sort_text: Some(format!("{}{}", u8::from(self.is_remote), self.label)),
            label: self.label,
            kind: Some(self.kind),
            detail: Some(self.detail),
            documentation: self.documentation.map(|text| markup(text).into()),
            text_edit: Some(CompletionItemTextEdit::TextEdit(edit)),
            ..CompletionItem::default()
        }
    }
}

/// Returns the meshes that pods of the workspace are part of.
fn meshes(analysis: &Analysis<'_, '_>) -> Vec<Mesh> {
    let predictions = analysis.facts.map(|facts| facts.predictions);
    let pods = predictions.unwrap_or_default().iter();
    let mut meshes = Vec::new();
    for mesh in pods.filter_map(|pod| pod.mesh.value) {
        if !meshes.contains(&mesh) {
            meshes.push(mesh);
        }
    }
    meshes
}

/// Returns the keys that have an effect in a map of an object.
fn keys((map, owner): (KeyMap, KeyOwner), has_colon: bool, meshes: &[Mesh]) -> Vec<Candidate> {
    let written = |name: &str| match has_colon {
        true => name.to_owned(),
        false => format!("{name}: "),
    };
    let candidate = |name: &str, mesh: Mesh, documentation: Option<String>| Candidate {
        label: name.to_owned(),
        written: written(name),
        kind: CompletionItemKind::Property,
        detail: mesh.title().to_owned(),
        documentation,
        is_remote: !meshes.contains(&mesh),
    };
    let documented = known_keys().filter(|(_, key)| key.is_for(map, owner));
    let mut found: Vec<Candidate> = documented
        .map(|(mesh, key)| candidate(key.name, mesh, Some(documentation(mesh, key))))
        .collect();
    if (map, owner) == (KeyMap::Annotations, KeyOwner::Pod) {
        for name in known_names::pod_annotations() {
            if !found.iter().any(|known| known.label == name) {
                found.push(candidate(name, Mesh::ISTIO, None));
            }
        }
    }
    found
}

/// Returns the usual values of a key. They are quoted, because labels and annotations are strings.
fn values(name: &str, map: KeyMap, owner: KeyOwner) -> Vec<Candidate> {
    let keys = known_keys().filter(|(_, key)| key.name == name && key.is_for(map, owner));
    let of_key = keys.flat_map(|(mesh, key)| {
        key.values.iter().map(move |value| Candidate {
            label: (*value).to_owned(),
            written: quoted(value),
            kind: CompletionItemKind::Value,
            detail: mesh.title().to_owned(),
            documentation: Some(documentation(mesh, key)),
            is_remote: false,
        })
    });
    of_key.collect()
}

/// Returns a value in quotes if YAML reads it as another type than a string.
fn quoted(value: &str) -> String {
    match value {
        "true" | "false" | "*" => format!("\"{value}\""),
        _ => value.to_owned(),
    }
}

fn rules() -> Vec<Candidate> {
    let rules = engine::explained()
        .into_iter()
        .filter(|rule| !rule.id.is_guard());
    let candidates = rules.map(|rule| Candidate {
        label: rule.id.as_str().to_owned(),
        written: rule.id.as_str().to_owned(),
        kind: CompletionItemKind::Value,
        detail: rule.severity.as_str().to_owned(),
        documentation: Some(rule_page(&rule)),
        is_remote: false,
    });
    candidates.collect()
}
