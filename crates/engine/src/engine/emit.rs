//! Writes new documents in block style. Strings are plain only if YAML 1.1 and 1.2 both read the same string.

use std::fmt::Write as _;
use std::sync::Arc;

use meshprobe_yaml::{Scalar, Span, Tree, from_node, parse, resolve_plain};
use serde_yaml::{Mapping, Value as Yaml};

/// Returns the text of a document.
///
/// # Errors
/// One of the two parsers does not read `value` from the text.
pub(super) fn text_of(value: &Yaml) -> Result<String, String> {
    let mut text = String::new();
    block(value, 0, &mut text);
    let shared: Arc<str> = Arc::from(text.as_str());
    let tree = parse(&shared, Span::new(0, text.len())).map_err(|error| error.message)?;
    let root = tree.as_ref().and_then(Tree::root).ok_or("it is empty")?;
    let ours: serde_json::Value = from_node(root).map_err(|error| error.message)?;
    let reference: serde_json::Value =
        serde_yaml::from_str(&text).map_err(|error| error.to_string())?;
    let expected = serde_json::to_value(value).map_err(|error| error.to_string())?;
    if ours == expected && reference == expected {
        Ok(text)
    } else {
        Err("the two parsers read it differently".to_owned())
    }
}

/// Writes a value that starts at the beginning of a line, indented by `depth` levels.
fn block(value: &Yaml, depth: usize, out: &mut String) {
    match value {
        Yaml::Mapping(map) if !map.is_empty() => {
            for (index, (key, value)) in map.iter().enumerate() {
                indent(depth, index > 0 || !out.ends_with("- "), out);
                entry(key, value, depth, out);
            }
        }
        Yaml::Sequence(items) if !items.is_empty() => {
            for item in items {
                indent(depth, true, out);
                out.push_str("- ");
                match item {
                    Yaml::Mapping(map) if !map.is_empty() => block(item, depth + 1, out),
                    _ => line(item, out),
                }
            }
        }
        _ => line(value, out),
    }
}

fn entry(key: &Yaml, value: &Yaml, depth: usize, out: &mut String) {
    out.push_str(&key.as_str().map_or_else(|| scalar(key), key_text));
    out.push(':');
    match value {
        Yaml::Mapping(map) if !map.is_empty() => {
            out.push('\n');
            block(value, depth + 1, out);
        }
        Yaml::Sequence(items) if !items.is_empty() => {
            out.push('\n');
            block(value, depth + 1, out);
        }
        _ => {
            out.push(' ');
            line(value, out);
        }
    }
}

fn indent(depth: usize, is_wanted: bool, out: &mut String) {
    if is_wanted {
        out.push_str(&"  ".repeat(depth));
    }
}

fn line(value: &Yaml, out: &mut String) {
    out.push_str(&scalar(value));
    out.push('\n');
}

fn scalar(value: &Yaml) -> String {
    match value {
        Yaml::String(text) => string(text),
        Yaml::Mapping(map) if *map == Mapping::new() => "{}".to_owned(),
        // JSON is YAML. meshprobe writes neither lists of lists nor tags.
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// Writes a key. A number is common as a key and needs no quotes, because all tools read it as a string.
fn key_text(key: &str) -> String {
    let is_number = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = is_number && !key.starts_with('0');
    if is_plain {
        key.to_owned()
    } else {
        string(key)
    }
}

fn string(text: &str) -> String {
    let mut chars = text.chars();
    let starts_plain = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '_'));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_string = matches!(resolve_plain(text), Scalar::Str(_));
    // A colon starts a value only before a space or line break.
    let ends_plain = !text.ends_with(':');
    if starts_plain && is_string && ends_plain && chars.all(|c| is_plain(c) || c == ':') {
        return text.to_owned();
    }
    let quoted = serde_json::to_string(text).unwrap_or_default();
    // JSON does not escape some line breaks and control characters.
    let is_raw = |c: char| {
        matches!(
            c,
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
    };
    let mut out = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        if is_raw(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(json: &str) -> Yaml {
        serde_yaml::from_str(json).unwrap()
    }

    #[test]
    fn documents_are_written_in_block_style() {
        let value = yaml(
            r#"{"a": {"b": [{"c": "on", "d": 1}, {"c": "1"}], "e": ["x", "y", "-q"]},
                "8080": "http://[::1]:80/?a=b#c", "f": {}, "g": [], "yes": "a:b", "h": 1.5, "i": ""}"#,
        );
        let text = text_of(&value).unwrap();
        insta::assert_snapshot!(text, @r#"
        a:
          b:
            - c: "on"
              d: 1
            - c: "1"
          e:
            - x
            - "y"
            - "-q"
        8080: "http://[::1]:80/?a=b#c"
        f: {}
        g: []
        "yes": a:b
        h: 1.5
        i: ""
        "#);
    }

    #[test]
    fn unusual_strings_are_read_back_unchanged() {
        for text in [
            "\u{85}\u{2028}\t\n",
            "0x1F",
            "1_000",
            "~",
            "a: b",
            "'",
            "\"",
            "é",
            "=",
            "<<",
        ] {
            let value = Yaml::Mapping(Mapping::from_iter([(text.into(), Yaml::from(text))]));
            assert!(text_of(&value).is_ok(), "{text:?}: {:?}", text_of(&value));
        }
    }
}
