//! `KEY=VALUE` facts: read, and laid over each other.

use super::suggest::not_one_of;
use super::{Facts, InjectionAssumption, MtlsMode};

/// The facts that can be given, sorted.
pub const FACT_KEYS: &[&str] = &[
    "ambient",
    "cni",
    "cni-enforces-node-traffic",
    "injection",
    "mtls",
    "native-sidecars",
    "node-version",
    "revision",
    "rewrite",
    "root-namespace",
    "status-port",
];

/// What `injection` may be.
pub(super) const INJECTIONS: &[&str] = &["evidence", "all", "none"];

/// What `mtls` may be.
pub(super) const MTLS_MODES: &[&str] = &["DISABLE", "PERMISSIVE", "STRICT"];

impl Facts {
    /// Takes one `KEY=VALUE`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn set_pair(&mut self, pair: &str) -> Result<(), String> {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not of the form KEY=VALUE"))?;
        self.set(key.trim(), value.trim())
    }

    /// Takes one fact by its key.
    ///
    /// # Errors
    /// What is wrong with key or value, in words.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "ambient" => self.ambient = Some(boolean(key, value)?),
            "cni" => self.cni = Some(boolean(key, value)?),
            "cni-enforces-node-traffic" => {
                self.cni_enforces_node_traffic = Some(boolean(key, value)?);
            }
            "injection" => self.injection = Some(injection(value)?),
            "mtls" => self.mtls = Some(mtls(value)?),
            "native-sidecars" => self.native_sidecars = Some(boolean(key, value)?),
            "node-version" => self.node_version = Some(value.parse()?),
            "revision" => self.revisions.push(not_empty(key, value)?),
            "rewrite" => self.rewrite = Some(boolean(key, value)?),
            "root-namespace" => self.root_namespace = Some(not_empty(key, value)?),
            "status-port" => self.status_port = Some(port(value)?),
            _ => return Err(not_one_of("fact", key, FACT_KEYS)),
        }
        Ok(())
    }

    /// Returns these facts, with those of `below` where they say nothing.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            injection: self.injection.or(below.injection),
            mtls: self.mtls.or(below.mtls),
            rewrite: self.rewrite.or(below.rewrite),
            revisions: if self.revisions.is_empty() {
                below.revisions
            } else {
                self.revisions
            },
            root_namespace: self.root_namespace.or(below.root_namespace),
            status_port: self.status_port.or(below.status_port),
            native_sidecars: self.native_sidecars.or(below.native_sidecars),
            node_version: self.node_version.or(below.node_version),
            cni: self.cni.or(below.cni),
            ambient: self.ambient.or(below.ambient),
            cni_enforces_node_traffic: self
                .cni_enforces_node_traffic
                .or(below.cni_enforces_node_traffic),
        }
    }
}

fn boolean(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("`{key}` takes `true` or `false`, not `{value}`")),
    }
}

fn injection(value: &str) -> Result<InjectionAssumption, String> {
    match value {
        "evidence" => Ok(InjectionAssumption::Evidence),
        "all" => Ok(InjectionAssumption::All),
        "none" => Ok(InjectionAssumption::None),
        _ => Err(not_one_of("value of `injection`", value, INJECTIONS)),
    }
}

fn mtls(value: &str) -> Result<MtlsMode, String> {
    match value.to_uppercase().as_str() {
        "DISABLE" => Ok(MtlsMode::Disable),
        "PERMISSIVE" => Ok(MtlsMode::Permissive),
        "STRICT" => Ok(MtlsMode::Strict),
        _ => Err(not_one_of("value of `mtls`", value, MTLS_MODES)),
    }
}

fn port(value: &str) -> Result<u16, String> {
    match value.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!(
            "`status-port` takes a port from 1 to 65535, not `{value}`"
        )),
    }
}

fn not_empty(key: &str, value: &str) -> Result<String, String> {
    if value.is_empty() {
        return Err(format!("`{key}` needs a value"));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Version;

    #[test]
    fn facts_are_read() {
        let mut facts = Facts::default();
        for key in FACT_KEYS {
            let value = match *key {
                "injection" => "all",
                "mtls" => "strict",
                "revision" | "root-namespace" => "x",
                "status-port" => "15020",
                "node-version" => "v1.33.2",
                _ => "true",
            };
            facts.set_pair(&format!("{key}={value}")).unwrap();
        }
        assert_eq!(facts.mtls, Some(MtlsMode::Strict));
        assert_eq!(facts.node_version, Some(Version::new(1, 33)));
        assert_eq!(facts.clone().over(Facts::default()), facts);
        assert_eq!(Facts::default().over(facts.clone()), facts);
    }

    #[test]
    fn mistakes_are_explained() {
        let mut facts = Facts::default();
        let mut say = |pair: &str| facts.set_pair(pair).unwrap_err();
        assert_eq!(say("mtls"), "`mtls` is not of the form KEY=VALUE");
        assert!(say("mtsl=STRICT").contains("did you mean `mtls`"));
        assert!(say("mtls=STRIKT").contains("did you mean `STRICT`"));
        assert!(say("rewrite=no").contains("`true` or `false`"));
        assert!(say("status-port=0").contains("65535"));
        assert!(say("revision=").contains("needs a value"));
        assert!(say("node-version=new").contains("not a version"));
    }
}
