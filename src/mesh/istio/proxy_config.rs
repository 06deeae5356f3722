//! The `proxy.istio.io/config` annotation: YAML inside a string, and the prober env it may carry.
//!
//! The injection template pastes each `proxyMetadata` value between double quotes without
//! escaping (injection-template.yaml), so a value is the inside of a double-quoted YAML scalar.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::yaml::{NodeRef, Scalar, Span, SyntaxError, Tree, parse};

use super::keys::PROBERS_ENV;

/// The parsed annotation.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The embedded document; `None` for an empty annotation.
    tree: Option<Tree>,
}

impl ProxyConfig {
    /// Parses the text of the annotation.
    ///
    /// # Errors
    /// [`SyntaxError`] with an offset within `text`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let text: Arc<str> = Arc::from(text);
        let whole = Span::new(0, text.len());
        Ok(Self {
            tree: parse(&text, whole)?,
        })
    }

    /// Returns the embedded document, unless it is empty.
    #[must_use]
    pub const fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    fn get(&self, key: &str) -> Option<NodeRef<'_>> {
        self.tree.as_ref()?.root()?.get(key)
    }

    /// Returns `statusPort`, if it is an integer.
    #[must_use]
    pub fn status_port(&self) -> Option<i64> {
        match self.get("statusPort")?.scalar()? {
            Scalar::Int(port) => Some(port),
            _ => None,
        }
    }

    /// Returns `interceptionMode`.
    #[must_use]
    pub fn interception_mode(&self) -> Option<&str> {
        self.get("interceptionMode")?.as_str()
    }

    /// Returns `holdApplicationUntilProxyStarts`, if it is a boolean.
    #[must_use]
    pub fn hold_application(&self) -> Option<bool> {
        match self.get("holdApplicationUntilProxyStarts")?.scalar()? {
            Scalar::Bool(hold) => Some(hold),
            _ => None,
        }
    }

    /// Returns the prober env that the sidecar will receive from here, escapes undone.
    ///
    /// # Errors
    /// [`SyntaxError`] where the value would break the injection template.
    #[must_use]
    pub fn probers(&self) -> Option<Result<String, SyntaxError>> {
        Some(unescape(self.raw_probers()?))
    }

    /// Returns the prober env as it is written here, before the injection template reads it.
    #[must_use]
    pub fn raw_probers(&self) -> Option<&str> {
        self.get("proxyMetadata")?.get(PROBERS_ENV)?.text()
    }
}

/// Returns `text` as the inside of a double-quoted YAML scalar.
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

/// Undoes [`escape`] the way the injection template does.
///
/// # Errors
/// [`SyntaxError`] where `value` between double quotes is no YAML scalar.
pub fn unescape(value: &str) -> Result<String, SyntaxError> {
    let quoted: Arc<str> = Arc::from(format!("\"{value}\""));
    let whole = Span::new(0, quoted.len());
    let tree = parse(&quoted, whole)?;
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
    fn the_env_survives_the_template() {
        let env =
            "{\"/app-health/w/livez\":{\"httpGet\":{\"path\":\"/a\\u0026\u{85}\u{2028}\u{7f}\"}}}";
        assert_eq!(unescape(&escape(env)).unwrap(), env);
        let annotation = format!("proxyMetadata:\n  {PROBERS_ENV}: '{}'\n", escape(env));
        let config = ProxyConfig::parse(&annotation).unwrap();
        assert_eq!(config.probers().unwrap().unwrap(), env);
    }

    #[test]
    fn json_text_is_yaml_too() {
        let config = ProxyConfig::parse(r#"{"statusPort": 15033}"#).unwrap();
        assert_eq!(config.status_port(), Some(15033));
        assert!(ProxyConfig::parse("").unwrap().tree().is_none());
        assert!(ProxyConfig::parse("a: [").is_err());
    }
}
