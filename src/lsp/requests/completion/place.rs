//! What is being typed at an offset of a text.

use meshprobe_mesh::mesh::{KeyMap, KeyOwner};
use meshprobe_yaml::Span;

use super::line_context::{Key, parents};

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
