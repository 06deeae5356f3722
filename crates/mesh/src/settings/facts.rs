//! Parses facts of the form `KEY=VALUE`, and combines them.

use super::suggest::unknown_value_message;
use super::{DataplaneMove, FactOverrides, InjectionAssumption, MtlsMode, NetworkPlugin};

/// The keys of facts, sorted.
pub const FACT_KEYS: &[&str] = &[
    "ambient",
    "cni",
    "cni-enforces-node-traffic",
    "dataplane",
    "injection",
    "mtls",
    "native-sidecars",
    "network-plugin",
    "node-version",
    "revision",
    "rewrite",
    "root-namespace",
    "status-port",
];

/// The values of `dataplane`.
pub(super) const DATAPLANES: &[&str] = &["ambient", "none", "sidecar"];

/// The values of `injection`.
pub(super) const INJECTIONS: &[&str] = &["evidence", "all", "none"];

/// The values of `mtls`.
pub(super) const MTLS_MODES: &[&str] = &["DISABLE", "PERMISSIVE", "STRICT"];

/// Returns the values of a fact that has a fixed set of them.
#[must_use]
pub fn fact_values(key: &str) -> &'static [&'static str] {
    match key {
        "dataplane" => DATAPLANES,
        "injection" => INJECTIONS,
        "mtls" => MTLS_MODES,
        "network-plugin" => &NetworkPlugin::NAMES,
        "node-version" | "revision" | "root-namespace" | "status-port" => &[],
        _ => &["true", "false"],
    }
}

impl FactOverrides {
    /// Sets one fact from `KEY=VALUE`.
    ///
    /// # Errors
    /// The message for a text of another form, an unknown key or an invalid value.
    pub fn set_pair(&mut self, pair: &str) -> Result<(), String> {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("expected `KEY=VALUE`, found `{pair}`"))?;
        self.set(key.trim(), value.trim())
    }

    /// Sets one fact.
    ///
    /// # Errors
    /// The message for an unknown key or an invalid value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "ambient" => self.ambient = Some(boolean(key, value)?),
            "cni" => self.cni = Some(boolean(key, value)?),
            "cni-enforces-node-traffic" => {
                self.cni_enforces_node_traffic = Some(boolean(key, value)?);
            }
            "dataplane" => self.dataplane = Some(dataplane(value)?),
            "injection" => self.injection = Some(injection(value)?),
            "mtls" => self.mtls = Some(mtls(value)?),
            "native-sidecars" => self.native_sidecars = Some(boolean(key, value)?),
            "network-plugin" => self.network_plugin = Some(network_plugin(value)?),
            "node-version" => self.node_version = Some(value.parse()?),
            "revision" => self.revisions.push(not_empty(key, value)?),
            "rewrite" => self.rewrite = Some(boolean(key, value)?),
            "root-namespace" => self.root_namespace = Some(not_empty(key, value)?),
            "status-port" => self.status_port = Some(port(value)?),
            _ => return Err(unknown_value_message("key", key, FACT_KEYS)),
        }
        Ok(())
    }

    /// Returns these facts, with those of `below` for keys that are not set.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            injection: self.injection.or(below.injection),
            dataplane: self.dataplane.or(below.dataplane),
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
            network_plugin: self.network_plugin.or(below.network_plugin),
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
        _ => Err(format!(
            "expected `true` or `false` for `{key}`, found `{value}`"
        )),
    }
}

fn dataplane(value: &str) -> Result<DataplaneMove, String> {
    match value {
        "ambient" => Ok(DataplaneMove::Ambient),
        "none" => Ok(DataplaneMove::None),
        "sidecar" => Ok(DataplaneMove::Sidecar),
        _ => Err(unknown_value_message(
            "value of `dataplane`",
            value,
            DATAPLANES,
        )),
    }
}

fn injection(value: &str) -> Result<InjectionAssumption, String> {
    match value {
        "evidence" => Ok(InjectionAssumption::Evidence),
        "all" => Ok(InjectionAssumption::All),
        "none" => Ok(InjectionAssumption::None),
        _ => Err(unknown_value_message(
            "value of `injection`",
            value,
            INJECTIONS,
        )),
    }
}

fn mtls(value: &str) -> Result<MtlsMode, String> {
    match value.to_ascii_uppercase().as_str() {
        "DISABLE" => Ok(MtlsMode::Disable),
        "PERMISSIVE" => Ok(MtlsMode::Permissive),
        "STRICT" => Ok(MtlsMode::Strict),
        _ => Err(unknown_value_message("value of `mtls`", value, MTLS_MODES)),
    }
}

fn network_plugin(value: &str) -> Result<NetworkPlugin, String> {
    let unknown = |()| {
        let names = &NetworkPlugin::NAMES;
        unknown_value_message("value of `network-plugin`", value, names)
    };
    value.parse().map_err(unknown)
}

fn port(value: &str) -> Result<u16, String> {
    match value.parse() {
        Ok(port) if port > 0 && !value.starts_with('+') => Ok(port),
        _ => Err(format!(
            "expected a port from 1 to 65535 for `status-port`, found `{value}`"
        )),
    }
}

fn not_empty(key: &str, value: &str) -> Result<String, String> {
    if value.is_empty() {
        return Err(format!("`{key}` requires a value"));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Version;

    #[test]
    fn every_key_is_parsed() {
        let mut facts = FactOverrides::default();
        for key in FACT_KEYS {
            let value = match *key {
                "dataplane" => "ambient",
                "injection" => "all",
                "mtls" => "strict",
                "revision" | "root-namespace" => "x",
                "status-port" => "15020",
                "network-plugin" => "cilium",
                "node-version" => "v1.33.2",
                _ => "true",
            };
            facts.set_pair(&format!("{key}={value}")).unwrap();
        }
        assert_eq!(facts.mtls, Some(MtlsMode::Strict));
        assert_eq!(facts.node_version, Some(Version::new(1, 33)));
        assert_eq!(facts.clone().or(FactOverrides::default()), facts);
        assert_eq!(FactOverrides::default().or(facts.clone()), facts);
    }

    #[test]
    fn errors_name_the_key_and_the_expected_values() {
        let mut facts = FactOverrides::default();
        let mut error = |pair: &str| facts.set_pair(pair).unwrap_err();
        assert_eq!(error("mtls"), "expected `KEY=VALUE`, found `mtls`");
        assert!(error("mtsl=STRICT").contains("did you mean `mtls`"));
        assert!(error("mtls=STRIKT").contains("did you mean `STRICT`"));
        assert!(error("network-plugin=celium").contains("did you mean `cilium`"));
        assert!(error("rewrite=no").contains("`true` or `false`"));
        assert!(error("status-port=0").contains("65535"));
        assert!(error("revision=").contains("requires a value"));
        assert!(error("node-version=new").contains("not a version"));
    }
}
