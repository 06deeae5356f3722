//! The `proxy.istio.io/config` annotation: YAML inside a string, and the prober env it may carry.
//!
//! The text is a `ProxyConfig` of Istio's API, read by the rules of `proto_json`.
//!
//! The injection template pastes each `proxyMetadata` value between double quotes without
//! escaping (injection-template.yaml), so a value is the inside of a double-quoted YAML scalar.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use meshprobe_yaml::{self as yaml, Ambiguity, NodeRef, Span, SyntaxError, Tree, parse_embedded};
use serde_json::{Map, Value as Json};

use super::config_schema::{INTERCEPTION_MODES, PROXY_CONFIG};
use super::keys::{LOCALHOST_PROBES, PROBERS_ENV};
use super::proto_type;
use super::proto_type::{TypeFault, faults};
use super::rewrite::parse_bool;
use crate::mesh::Version;

/// The field that becomes the env of the sidecar.
const METADATA: &str = "proxyMetadata";
/// The parsed annotation.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The embedded document; `None` for an empty annotation.
    tree: Option<Tree>,
}

/// Why an annotation cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The injector rejects the pod; contains the reason in a few words.
    Refused(String),
    /// The injector reads it differently from this program; contains the difference, and the keys that the injector reads.
    Differs(String),
}

impl core::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(reason) | Self::Differs(reason) => f.write_str(reason),
        }
    }
}

impl ProxyConfig {
    /// Parses the text of the annotation.
    ///
    /// Istio converts the first document to JSON with sigs.k8s.io/yaml, and ignores later ones.
    ///
    /// # Errors
    /// [`Unreadable`] if Istio rejects the text, or if it does not read it as YAML 1.2 specifies.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let text: Arc<str> = Arc::from(text);
        let parsed = parsed(&text)?;
        let fault = match &parsed {
            Ok(Some(tree)) => yaml::json_fault(tree),
            _ => yaml::directive_fault(&text),
        };
        if let Some(fault) = fault {
            return Err(Unreadable::Refused(fault));
        }
        let tree = parsed.map_err(|error| differs(&text, &error.message))?;
        match tree.as_ref().and_then(ambiguity) {
            Some(found) => Err(differs(&text, &found.message)),
            None => Ok(Self { tree }),
        }
    }

    /// Returns the embedded document, unless it is empty.
    #[must_use]
    pub const fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    fn root(&self) -> Option<NodeRef<'_>> {
        self.tree.as_ref()?.root()
    }

    fn value(&self, field: &str) -> Option<NodeRef<'_>> {
        proto_type::value(self.root()?, field)
    }

    /// Returns `statusPort`, if it is an integer.
    #[must_use]
    pub fn status_port(&self) -> Option<i64> {
        proto_type::int32(self.value("statusPort")?)
    }

    /// Returns `interceptionMode`.
    #[must_use]
    pub fn interception_mode(&self) -> Option<&'static str> {
        proto_type::enumeration(self.value("interceptionMode")?, &INTERCEPTION_MODES)
    }

    /// Returns `holdApplicationUntilProxyStarts`, if it is a boolean.
    #[must_use]
    pub fn hold_application(&self) -> Option<bool> {
        proto_type::boolean(self.value("holdApplicationUntilProxyStarts")?)
    }

    /// Returns whether the agent is configured to send requests to the application on 127.0.0.1.
    #[must_use]
    pub fn calls_localhost(&self) -> bool {
        let variable = self
            .value(METADATA)
            .and_then(|all| all.get(LOCALHOST_PROBES)?.text());
        variable.and_then(parse_bool) == Some(true)
    }

    /// Returns the spelling of `proxyMetadata` in the annotation, which a new entry
    /// must use: of two spellings, the decoder only reads one.
    #[must_use]
    pub fn metadata_key(&self) -> &str {
        let entry = self
            .root()
            .and_then(|root| proto_type::entry(root, METADATA));
        entry.and_then(|entry| entry.key.text()).unwrap_or(METADATA)
    }

    /// Returns why the injector of a release rejects a pod with this annotation; `None` if the types of the fields are
    /// accepted. If the release is unknown, fields of the newest one are checked.
    #[must_use]
    pub fn fault(&self, release: Option<Version>) -> Option<TypeFault> {
        let root = self.root().filter(|root| !root.is_null())?;
        if !root.is_mapping() {
            return Some(TypeFault {
                path: String::new(),
                span: root.span(),
                message: NO_MAPPING.to_owned(),
                since: None,
            });
        }
        let is_in = |fault: &TypeFault| fault.since.is_none_or(|change| change.is_in(release));
        let mut faults: Vec<TypeFault> = faults(root, PROXY_CONFIG)
            .into_iter()
            .filter(is_in)
            .collect();
        // A fault in all releases is certain.
        faults.sort_by_key(|fault| fault.since.is_some());
        faults.into_iter().next()
    }

    /// Returns the prober env that the sidecar receives from this annotation, without escapes.
    ///
    /// # Errors
    /// [`SyntaxError`] if the value would break the injection template.
    #[must_use]
    pub fn probers(&self) -> Option<Result<String, SyntaxError>> {
        Some(unescape(self.raw_probers()?))
    }

    /// Returns the prober env as it is written, before the injection template reads it.
    #[must_use]
    pub fn raw_probers(&self) -> Option<&str> {
        self.value(METADATA)?.get(PROBERS_ENV)?.text()
    }
}

/// The reason to reject a list or a single value.
const NO_MAPPING: &str = "its text must be a YAML mapping";
/// The limit on the number of nodes in a text.
const MAX_NODES: usize = 1_000_000;

/// Parses a text; the outer error means that libyaml rejects it, the inner one that only our parser does.
fn parsed(text: &Arc<str>) -> Result<Result<Option<Tree>, SyntaxError>, Unreadable> {
    let whole = Span::new(0, text.len());
    // All parsers agree about ordinary YAML.
    if let Some(tree) = yaml::parse_fast(text, whole) {
        return Ok(Ok(Some(tree)));
    }
    let parsed = yaml::parse_within(text, whole, MAX_NODES).and_then(yaml::check_expanded_size);
    let error = match (&parsed, yaml::check_brackets(text, parsed.is_ok())) {
        (Err(own), Err(_)) => own.message.clone(),
        (Ok(_), Err(reason)) => reason,
        (_, Ok(())) => {
            let Some(error) = yaml::first_document_error(text) else {
                return Ok(parsed);
            };
            match &parsed {
                Err(own) => own.message.clone(),
                Ok(tree) => tree
                    .as_ref()
                    .and_then(ambiguity)
                    .map_or(error, |found| found.message),
            }
        }
    };
    Err(Unreadable::Refused(format!(
        "its text is not YAML: {error}"
    )))
}

/// Returns the first part of a text that parsers read differently.
fn ambiguity(tree: &Tree) -> Option<Ambiguity> {
    yaml::ambiguities(tree).into_iter().next()
}

/// Describes a text that Istio reads differently from this program.
fn differs(text: &str, reason: &str) -> Unreadable {
    let Some(keys) = yaml::first_document_keys(text) else {
        return Unreadable::Refused(NO_MAPPING.to_owned());
    };
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let message = match keys.as_slice() {
        [] => reason.to_owned(),
        [key] => format!("{reason}; Istio reads the key {key}"),
        keys => format!("{reason}; Istio reads the keys {}", keys.join(", ")),
    };
    Unreadable::Differs(message)
}

/// Renames the fields of a `ProxyConfig` to their JSON names, which take precedence if both are written, and
/// converts its port to a number if it is in quotes.
pub(super) fn canonical(mut config: Map<String, Json>) -> Map<String, Json> {
    for name in PROXY_CONFIG.iter().map(|field| field.name) {
        if let Cow::Owned(original) = proto_type::original_name(name)
            && let Some(value) = config.remove(&original)
        {
            config.entry(name).or_insert(value);
        }
    }
    if let Some(port) = config.get_mut("statusPort")
        && let Some(number) = port
            .as_str()
            .and_then(|text| text.trim().parse::<i32>().ok())
    {
        *port = number.into();
    }
    config
}

/// Returns `text` as the content of a double-quoted YAML scalar.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Reverses [`escape`] as the injection template does.
///
/// # Errors
/// [`SyntaxError`] if `value` between double quotes is not a YAML scalar.
pub fn unescape(value: &str) -> Result<String, SyntaxError> {
    let quoted: Arc<str> = Arc::from(format!("\"{value}\""));
    let whole = Span::new(0, quoted.len());
    let tree = parse_embedded(&quoted, whole)?;
    let text = tree.as_ref().and_then(Tree::root).and_then(NodeRef::text);
    text.map(str::to_owned).ok_or_else(|| SyntaxError {
        offset: 0,
        message: "the value is not one string".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_does_not_change_the_env() {
        let env =
            "{\"/app-health/w/livez\":{\"httpGet\":{\"path\":\"/a\\u0026\u{85}\u{2028}\u{7f}\"}}}";
        assert_eq!(unescape(&escape(env)).unwrap(), env);
        let annotation = format!("proxyMetadata:\n  {PROBERS_ENV}: '{}'\n", escape(env));
        let config = ProxyConfig::parse(&annotation).unwrap();
        assert_eq!(config.probers().unwrap().unwrap(), env);
    }

    #[test]
    fn json_text_is_parsed_as_yaml() {
        let config = ProxyConfig::parse(r#"{"statusPort": 15033}"#).unwrap();
        assert_eq!(config.status_port(), Some(15033));
        assert!(ProxyConfig::parse("").unwrap().tree().is_none());
        assert!(ProxyConfig::parse("a: [").is_err());
    }
}
