//! `textDocument/completion`: labels and annotations of meshes, their values, and rules in `# meshprobe: ignore[…]`.
//!
//! A line that is being typed often makes the document invalid, so the place is read from the lines of the text.

use gen_lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemTextEdit, CompletionParams, TextEdit,
};
use meshprobe_mesh::mesh::istio::known_keys;
use meshprobe_mesh::mesh::{KeyMap, KeyOwner, Mesh, known_keys};
use meshprobe_yaml::Span;

use super::known_key::{documentation, markup};
use crate::analysis::Analysis;
use crate::encoding::{Lines, path_of};
use meshprobe_engine::engine;
use meshprobe_report::rule_page;

/// Returns what can be written at the position.
pub(super) fn answer(
    analysis: &Analysis,
    params: &CompletionParams,
) -> Option<Vec<CompletionItem>> {
    let at = &params.text_document_position_params;
    let path = path_of(&at.text_document.uri)?;
    let buffer = analysis.buffers.get(&path)?;
    let text = &buffer.text;
    let lines = Lines::new(text, analysis.supports.encoding);
    let (place, typed) = place(text, lines.offset(at.position))?;
    let pods = analysis.workloads.iter();
    let meshes: Vec<&str> = pods.filter_map(|pod| pod.mesh.value).collect();
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

/// Returns the keys that have an effect in a map of an object.
fn keys((map, owner): (KeyMap, KeyOwner), has_colon: bool, meshes: &[&str]) -> Vec<Candidate> {
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
        is_remote: !meshes.contains(&mesh.as_str()),
    };
    let documented = known_keys().filter(|(_, key)| key.is_for(map, owner));
    let mut found: Vec<Candidate> = documented
        .map(|(mesh, key)| candidate(key.name, mesh, Some(documentation(mesh, key))))
        .collect();
    if (map, owner) == (KeyMap::Annotations, KeyOwner::Pod) {
        for name in known_keys::pod_annotations() {
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

/// A key around a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key<'t> {
    /// The key.
    pub(super) name: &'t str,
    /// The value of `kind` in the same mapping, as far as the lines before show it.
    pub(super) kind: Option<&'t str>,
}

/// A line with a key.
struct Line<'t> {
    /// The number of bytes before the key; a `- ` counts as white space.
    indent: usize,
    /// Whether the key starts an item of a list.
    is_item: bool,
    name: &'t str,
    value: &'t str,
}

/// Returns the keys around a line with this indentation, the innermost first. `before` is the text before the line.
pub(super) fn parents(before: &str, indent: usize) -> Vec<Key<'_>> {
    let mut found: Vec<Key<'_>> = Vec::new();
    let mut indent = indent;
    for line in before.lines().rev() {
        if line.starts_with("---") {
            break;
        }
        let Some(line) = read(line) else {
            continue;
        };
        if let Some(last) = found.last_mut()
            && line.indent == indent
            && line.name == "kind"
            && last.kind.is_none()
        {
            last.kind = Some(line.value);
        }
        // An item of a list may have the indentation of the key of the list.
        let is_around = line.indent < indent && !line.name.is_empty();
        if is_around && (line.value.is_empty() || line.value.starts_with('&')) {
            found.push(Key {
                name: line.name,
                kind: None,
            });
        }
        if line.indent < indent {
            indent = line.indent;
        }
        if line.is_item && line.indent == indent {
            // The other keys of the mapping follow the item; the list is around it.
            indent = indent.saturating_sub(1);
        }
    }
    found
}

/// Returns the key of a line; `None` for a line without one.
fn read(line: &str) -> Option<Line<'_>> {
    let content = line.trim_start();
    if content.is_empty() || content.starts_with('#') {
        return None;
    }
    let item = content.strip_prefix("- ").map(str::trim_start);
    let key = item.unwrap_or(content);
    let (name, value) = key.split_once(':')?;
    Some(Line {
        indent: line.len() - key.len(),
        is_item: item.is_some(),
        name: name.trim().trim_matches(['"', '\'']),
        value: value.split(" #").next().unwrap_or_default().trim(),
    })
}

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The key of a label or annotation.
    Key {
        /// The map that contains it.
        map: KeyMap,
        /// The object that has the map.
        owner: KeyOwner,
        /// Whether a `:` follows.
        has_colon: bool,
    },
    /// The value of a label or annotation.
    Value {
        /// The key.
        key: String,
        /// The map that contains it.
        map: KeyMap,
        /// The object that has the map.
        owner: KeyOwner,
    },
    /// The id of a rule in a suppression.
    Rule,
}

/// Returns what is being typed at an offset, and the span of the word that contains the offset. Returns `None` if nothing
/// is known about the place.
pub(super) fn place(text: &str, offset: usize) -> Option<(Place, Span)> {
    let before = text.get(..offset)?;
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = before.get(start..)?;
    let rest = text.get(offset..)?.split(['\n', '\r']).next()?;
    if let Some((_, list)) = line.rsplit_once("# meshprobe: ignore[") {
        let typed = list.rsplit(',').next()?.trim_start();
        let end = rest.find([',', ']', ' ']).unwrap_or(rest.len());
        let is_open = !list.contains(']');
        return is_open.then(|| (Place::Rule, Span::new(offset - typed.len(), offset + end)));
    }
    let content = line.trim_start();
    if content.starts_with('#') {
        return None;
    }
    let indent = line.len() - content.len();
    let (map, owner) = map_and_owner(&parents(text.get(..start)?, indent))?;
    match content.split_once(':') {
        None => {
            let word = rest.find([':', ' ', '#']).unwrap_or(rest.len());
            let has_colon = rest.get(word..)?.starts_with(':');
            let place = Place::Key {
                map,
                owner,
                has_colon,
            };
            Some((place, Span::new(offset - content.len(), offset + word)))
        }
        Some((key, value)) => {
            let typed = value.trim_start();
            // Without a space, `a:b` is one word.
            let is_value = typed.len() < value.len();
            let key = key.trim().trim_matches(['"', '\'']).to_owned();
            let word = rest.find([' ', '#']).unwrap_or(rest.len());
            let span = Span::new(offset - typed.len(), offset + word);
            is_value.then_some((Place::Value { key, map, owner }, span))
        }
    }
}

/// Returns the map of labels or annotations that contains a line, and the object that has it.
fn map_and_owner(parents: &[Key<'_>]) -> Option<(KeyMap, KeyOwner)> {
    let [field, metadata, outer @ ..] = parents else {
        return None;
    };
    let map = [KeyMap::Labels, KeyMap::Annotations]
        .into_iter()
        .find(|map| map.field() == field.name)?;
    if metadata.name != "metadata" {
        return None;
    }
    let owner = match (outer.first().map(|outer| outer.name), metadata.kind) {
        (_, Some("Namespace")) => KeyOwner::Namespace,
        (Some("template"), _) | (_, Some("Pod")) => KeyOwner::Pod,
        _ => return None,
    };
    Some((map, owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(before: &str, indent: usize) -> Vec<&str> {
        parents(before, indent)
            .into_iter()
            .map(|key| key.name)
            .collect()
    }

    #[test]
    fn keys_with_less_indentation_are_around_a_line() {
        let text = "a:\n  b: c\n  d:\n    - e: 1\n      f:\n        g: 2\n";
        assert_eq!(names(text, 8), ["f", "d", "a"]);
        assert_eq!(names(text, 2), ["a"]);
        assert_eq!(names("a:\n- b:\n    c: 1\n", 4), ["b", "a"]);
        assert_eq!(names("a:\n- b:\n    c: 1\n  d:\n", 4), ["d", "a"]);
    }

    /// Returns the place at the `|` in a text, and the text of the span without it.
    fn at(marked: &str) -> Option<(Place, String)> {
        let offset = marked.find('|').unwrap();
        let text = marked.replacen('|', "", 1);
        let (place, span) = place(&text, offset)?;
        Some((place, span.slice(&text).to_owned()))
    }

    const fn key(map: KeyMap, owner: KeyOwner) -> Place {
        Place::Key {
            map,
            owner,
            has_colon: false,
        }
    }

    #[test]
    fn the_place_is_found_in_half_typed_text() {
        use KeyMap::{Annotations, Labels};
        use KeyOwner::{Namespace, Pod};
        let namespace = "kind: Namespace\nmetadata:\n  name: ü𝄞\n  labels:\n    ist|";
        assert_eq!(
            at(namespace),
            Some((key(Labels, Namespace), "ist".to_owned()))
        );
        let template = "kind: Deployment\nspec:\n  template:\n    metadata:\n      annotations:\n        a: b\n        |\n";
        assert_eq!(at(template), Some((key(Annotations, Pod), String::new())));
        let listed = "kind: List\nitems:\n- kind: Pod\n  metadata:\n    labels:\n      x|\n";
        assert_eq!(at(listed), Some((key(Labels, Pod), "x".to_owned())));
        let own = "kind: Deployment\nmetadata:\n  annotations:\n    x|";
        assert_eq!(at(own), None);
        let second = "kind: Namespace\n---\nmetadata:\n  labels:\n    x|\n";
        assert_eq!(at(second), None);
    }

    #[test]
    fn the_value_is_after_the_colon_and_a_space() {
        let value = |typed: &str| format!("kind: Pod\nmetadata:\n  labels:\n    'a/b':{typed}");
        let (place, word) = at(&value(" tr|ue # x")).unwrap();
        assert_eq!(word, "true");
        assert!(matches!(place, Place::Value { key, .. } if key == "a/b"));
        assert_eq!(at(&value(" \"f|")).unwrap().1, "\"f");
        assert_eq!(at(&value("x|")), None);
    }

    #[test]
    fn a_suppression_names_rules() {
        assert_eq!(
            at("a: b # meshprobe: ignore[one, tw|o]"),
            Some((Place::Rule, "two".to_owned()))
        );
        assert_eq!(
            at("# meshprobe: ignore[|"),
            Some((Place::Rule, String::new()))
        );
        assert_eq!(at("# meshprobe: ignore[one] |"), None);
        assert_eq!(at("# a comment|"), None);
    }

    #[test]
    fn a_key_before_a_colon_is_replaced_without_it() {
        let (place, word) = at("kind: Pod\nmetadata:\n  labels:\n    is|tio: x").unwrap();
        assert_eq!(word, "istio");
        assert!(matches!(
            place,
            Place::Key {
                has_colon: true,
                ..
            }
        ));
    }
}
