//! Single values of settings: how they are parsed, and their JSON schema.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use globset::{Glob, GlobBuilder, GlobSet};
use meshprobe_yaml::{DeError, NodeRef, Span, from_node, parse_embedded};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, Visitor};
use serde_json::Value;

use super::suggest::unknown_value_message;
use super::{
    DataplaneMove, Form, FormChoice, InjectionAssumption, MeshKind, MtlsMode, NetworkPlugin,
    RuleLevel, Version,
};
use crate::finding::Severity;

/// A step of the KRM function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Report findings.
    Check,
    /// Rewrite probes.
    Rewrite,
}

/// A value of `failOn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailLevel {
    Severity(Severity),
    Never,
    NotJudged,
}

/// The items that the KRM function returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emit {
    /// All items.
    #[default]
    Items,
    /// No items: only for `validators:` of kustomize, which fail if a function returns its input.
    None,
}

/// A value that users write as one scalar, in the configuration file or after `KEY=`.
pub(super) trait Setting: Sized {
    /// Whether any text is a value, so that a boolean without quotes may be one by mistake.
    const IS_TEXT: bool = false;

    /// Parses the text of the scalar.
    ///
    /// # Errors
    /// The message for any other text.
    fn read(text: &str) -> Result<Self, String>;

    /// Returns the schema, which accepts what [`Self::read`] accepts.
    fn schema() -> Schema;
}

/// A value that is one of a few words.
pub(super) trait Words: Sized {
    /// What the word is, for messages.
    const WHAT: &'static str;

    /// Returns all words with their values, in the order in which they are documented.
    fn all() -> Vec<(&'static str, Self)>;

    /// Returns the words without the values.
    fn names() -> Vec<&'static str> {
        Self::all().into_iter().map(|(name, _)| name).collect()
    }
}

impl<T: Words> Setting for T {
    fn read(text: &str) -> Result<Self, String> {
        let found = T::all().into_iter().find(|(name, _)| *name == text);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| unknown_value_message(T::WHAT, text, &T::names()))
    }

    fn schema() -> Schema {
        json_schema!({"type": "string", "enum": T::names()})
    }
}

impl Setting for bool {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("expected `true` or `false`, found `{text}`"))
    }

    fn schema() -> Schema {
        json_schema!({"enum": [true, false, "true", "false"]})
    }
}

/// Ports.
impl Setting for u16 {
    fn read(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(port) if port > 0 && !text.starts_with('+') => Ok(port),
            _ => Err(format!("expected a port from 1 to 65535, found `{text}`")),
        }
    }

    fn schema() -> Schema {
        let pattern = "^0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$";
        json_schema!({"type": ["integer", "string"], "minimum": 1, "maximum": 65535, "pattern": pattern})
    }
}

/// Texts that are not empty. An integer without quotes is also a text.
impl Setting for String {
    const IS_TEXT: bool = true;

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("requires a value, found an empty string".to_owned()),
            _ => Ok(text.to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({"type": ["string", "integer"], "minLength": 1})
    }
}

impl Setting for Version {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn schema() -> Schema {
        json_schema!({"type": "string", "pattern": r"^\s*v*[0-9]{1,4}[.-][0-9]{1,4}([.-]|\s*$)"})
    }
}

/// Globs below the folder of the configuration file. A schema cannot check their brackets.
impl Setting for Glob {
    const IS_TEXT: bool = true;

    fn read(text: &str) -> Result<Self, String> {
        glob(text)
    }

    fn schema() -> Schema {
        let pattern = r"^(?!(\./)?(/|$))(?!(.*/)?\.\.(/|$))";
        json_schema!({"type": ["string", "integer"], "minLength": 1, "pattern": pattern})
    }
}

/// Parses a glob.
///
/// # Errors
/// The message for a path that is not below the folder of the configuration file, or for an invalid glob.
fn glob(text: &str) -> Result<Glob, String> {
    let trimmed = text.strip_prefix("./").unwrap_or(text);
    let trimmed = trimmed.strip_suffix('/').unwrap_or(trimmed);
    if trimmed.is_empty() || trimmed.starts_with('/') || trimmed.split('/').any(|part| part == "..")
    {
        return Err(format!(
            "`{text}` is not a path below the folder of the configuration file"
        ));
    }
    let built = GlobBuilder::new(trimmed).literal_separator(true).build();
    // A glob that cannot be compiled must be rejected here, because it would match nothing.
    built
        .and_then(|glob| GlobSet::new([&glob]).map(|_| glob))
        .map_err(|error| format!("`{text}` is not a valid glob: {}", error.kind()))
}

/// The modes are accepted in any case.
impl Setting for MtlsMode {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(&text.to_ascii_uppercase())
            .ok_or_else(|| unknown_value_message("value of `mtls`", text, MTLS_MODES))
    }

    /// Editors complete the words as they are written here.
    fn schema() -> Schema {
        let in_any_case = |word: &&str| -> String {
            let cases = |letter: char| format!("[{letter}{}]", letter.to_ascii_lowercase());
            word.chars().map(cases).collect()
        };
        let pattern: Vec<String> = MTLS_MODES.iter().map(in_any_case).collect();
        let pattern = format!("^({})$", pattern.join("|"));
        json_schema!({"anyOf": [{"type": "string", "enum": MTLS_MODES}, {"type": "string", "pattern": pattern}]})
    }
}

/// The values of `mtls`.
pub(super) const MTLS_MODES: &[&str] = &["DISABLE", "PERMISSIVE", "STRICT"];

impl Words for DataplaneMove {
    const WHAT: &'static str = "value of `dataplane`";

    fn all() -> Vec<(&'static str, Self)> {
        vec![
            ("ambient", Self::Ambient),
            ("none", Self::None),
            ("sidecar", Self::Sidecar),
        ]
    }
}

impl Words for InjectionAssumption {
    const WHAT: &'static str = "value of `injection`";

    fn all() -> Vec<(&'static str, Self)> {
        vec![
            ("evidence", Self::Evidence),
            ("all", Self::All),
            ("none", Self::None),
        ]
    }
}

impl Words for NetworkPlugin {
    const WHAT: &'static str = "value of `network-plugin`";

    fn all() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|plugin| (plugin.as_str(), plugin)).into()
    }
}

impl Words for MeshKind {
    const WHAT: &'static str = "mesh";

    fn all() -> Vec<(&'static str, Self)> {
        Self::all().map(|kind| (kind.as_str(), kind)).collect()
    }
}

impl Words for FormChoice {
    const WHAT: &'static str = "form";

    fn all() -> Vec<(&'static str, Self)> {
        let forms = Form::ALL.map(|form| (form.as_str(), Self::Fixed(form)));
        [("auto", Self::Auto)].into_iter().chain(forms).collect()
    }
}

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];

impl Words for RuleLevel {
    const WHAT: &'static str = "level";

    fn all() -> Vec<(&'static str, Self)> {
        let severities = SEVERITIES.map(|level| (level.as_str(), Self::Severity(level)));
        let ignore = [("ignore", Self::Ignore)];
        severities.into_iter().chain(ignore).collect()
    }
}

impl Words for FailLevel {
    const WHAT: &'static str = "level";

    fn all() -> Vec<(&'static str, Self)> {
        let severities = SEVERITIES.map(|level| (level.as_str(), Self::Severity(level)));
        let others = [("never", Self::Never), ("not-judged", Self::NotJudged)];
        severities.into_iter().chain(others).collect()
    }
}

impl Words for Action {
    const WHAT: &'static str = "action";

    fn all() -> Vec<(&'static str, Self)> {
        vec![("check", Self::Check), ("rewrite", Self::Rewrite)]
    }
}

impl Words for Emit {
    const WHAT: &'static str = "value of `emit`";

    fn all() -> Vec<(&'static str, Self)> {
        vec![("items", Self::Items), ("none", Self::None)]
    }
}

/// Whether the charts of the tree are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RendersCharts(pub(super) bool);

impl Words for RendersCharts {
    const WHAT: &'static str = "value of `helm`";

    fn all() -> Vec<(&'static str, Self)> {
        vec![("auto", Self(true)), ("never", Self(false))]
    }
}

/// A [`Setting`] that serde reads.
#[derive(Clone, Debug)]
pub(super) struct Leaf<T>(pub(super) T);

impl<'de, T: Setting> Deserialize<'de> for Leaf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<T>(std::marker::PhantomData<T>);

        impl<T: Setting> Visitor<'_> for Text<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
                T::read(text).map_err(E::custom)
            }

            fn visit_bytes<E: de::Error>(self, written: &[u8]) -> Result<T, E> {
                let text = std::str::from_utf8(written).map_err(E::custom)?;
                if text.starts_with(char::is_alphabetic) {
                    let found = format!("boolean `{text}`");
                    let found = de::Unexpected::Other(&found);
                    return match T::IS_TEXT {
                        true => Err(E::invalid_type(found, &self)),
                        false => self.visit_str(canonical_boolean(text)),
                    };
                }
                self.visit_str(text)
            }
        }

        let text = Text(std::marker::PhantomData);
        deserializer.deserialize_bytes(text).map(Self)
    }
}

/// Returns `true` for `True`, as the YAML of kubectl reads it, and other texts as they are.
pub(super) fn canonical_boolean(text: &str) -> &str {
    let mut booleans = ["true", "false"].into_iter();
    let found = booleans.find(|boolean| boolean.eq_ignore_ascii_case(text));
    found.unwrap_or(text)
}

impl<T: Setting> JsonSchema for Leaf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        std::any::type_name::<T>().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

/// Deserializes the value of an optional key, which must not be null if the key is written.
pub(super) fn leaf<'de, D: Deserializer<'de>, T: Setting>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Leaf::deserialize(deserializer).map(|Leaf(value)| Some(value))
}

/// Deserializes a list that must not be empty: with an empty one, an action or a scope would silently do nothing.
pub(super) fn filled<'de, D: Deserializer<'de>, T: Setting>(
    deserializer: D,
) -> Result<Vec<Leaf<T>>, D::Error> {
    let items = Vec::deserialize(deserializer)?;
    match items.is_empty() {
        true => Err(de::Error::custom(
            "must not be empty; add a value, or delete the key",
        )),
        false => Ok(items),
    }
}

/// Deserializes plain data, such as `{KEY: VALUE}` of an option.
///
/// # Errors
/// The message, without the path of the key.
pub(super) fn read_data<T: DeserializeOwned>(data: &Value) -> Result<T, String> {
    with_root(data, |root| {
        from_node(root).map_err(|fault: DeError| match fault.unknown_field {
            Some((key, known)) => unknown_value_message("key", &key, known),
            None => fault.message,
        })
    })
}

pub(super) fn with_root<T>(
    data: &Value,
    read: impl FnOnce(NodeRef<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let text: Arc<str> = data.to_string().into();
    let tree = parse_embedded(&text, Span::new(0, text.len())).map_err(|error| error.message)?;
    match tree.as_ref().and_then(|tree| tree.root()) {
        Some(root) => read(root),
        None => Err("expected a mapping".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_that_match_nothing_are_rejected() {
        assert!(glob("./clusters/*/").is_ok());
        for bad in ["", "/", "/etc", "../x", "a/../b", "a/[", "{a"] {
            assert!(glob(bad).is_err(), "{bad}");
        }
    }
}
