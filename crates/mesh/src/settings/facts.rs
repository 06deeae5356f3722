//! Facts about the cluster that the user sets: in the configuration, or as `KEY=VALUE`.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::setting::{Leaf, MTLS_MODES, Words as _, leaf, read_data};
use super::{DataplaneMove, InjectionAssumption, MtlsMode, NetworkPlugin, Version};

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

/// Facts from `--assume`, which apply if the tree does not state them, or `--override`, which take precedence over the
/// tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[serde(expecting = "a mapping")]
pub struct FactOverrides {
    /// Whether the ambient mode of Istio is installed.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<bool>")]
    pub ambient: Option<bool>,
    /// Whether the CNI plugin of Istio redirects the traffic, instead of an init container.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<bool>")]
    pub cni: Option<bool>,
    /// Whether the CNI plugin of the cluster enforces NetworkPolicies on packets of the pod's own node.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<bool>", extend("default" = false))]
    pub cni_enforces_node_traffic: Option<bool>,
    /// A move of the namespaces that are in the mesh: `ambient` moves injected ones to ambient mode, `sidecar` the others
    /// back. As an assumption, it applies to namespaces that the tree does not contain.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<DataplaneMove>")]
    pub dataplane: Option<DataplaneMove>,
    /// Which pods are injected if the tree does not contain their Namespace: those with evidence of a mesh, all or none.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<InjectionAssumption>", extend("default" = "evidence"))]
    pub injection: Option<InjectionAssumption>,
    /// The mutual TLS mode of ports for which no policy sets one.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<MtlsMode>", extend("default" = "PERMISSIVE"))]
    pub mtls: Option<MtlsMode>,
    /// Whether sidecars are native: init containers with `restartPolicy: Always`.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<bool>")]
    pub native_sidecars: Option<bool>,
    /// The network plugin of the cluster, which decides whether probes reach pods in ambient mode. `other` is any other
    /// plugin that delivers packets from 169.254.7.127.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<NetworkPlugin>")]
    pub network_plugin: Option<NetworkPlugin>,
    /// The oldest Kubernetes release among the nodes, in quotes.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<Version>", example = "1.33")]
    pub node_version: Option<Version>,
    /// The revision of the control plane that injects pods.
    #[serde(rename = "revision", deserialize_with = "one")]
    #[schemars(with = "Leaf<String>", example = "1-28")]
    pub revisions: Vec<String>,
    /// Whether the injector rewrites probes by default.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<bool>")]
    pub rewrite: Option<bool>,
    /// The namespace whose policies apply to the whole mesh.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<String>", extend("default" = "istio-system"))]
    pub root_namespace: Option<String>,
    /// The port on which the agent listens, and which rewritten probes target.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<u16>", example = 15020)]
    pub status_port: Option<u16>,
}

/// Parses `KEY=VALUE`.
impl FromStr for FactOverrides {
    type Err = String;

    fn from_str(pair: &str) -> Result<Self, String> {
        let mut facts = Self::default();
        facts.set_pair(pair)?;
        Ok(facts)
    }
}

/// Adds facts, which replace earlier ones with the same key; revisions are collected.
impl Extend<Self> for FactOverrides {
    fn extend<I: IntoIterator<Item = Self>>(&mut self, facts: I) {
        for mut fact in facts {
            let mut revisions = std::mem::take(&mut self.revisions);
            revisions.append(&mut fact.revisions);
            *self = Self {
                revisions,
                ..fact.or(std::mem::take(self))
            };
        }
    }
}

/// Deserializes a list of one value.
fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Leaf::deserialize(deserializer).map(|Leaf(value)| vec![value])
}

/// Returns the values of a fact that has a fixed set of them.
#[must_use]
pub fn fact_values(key: &str) -> Vec<&'static str> {
    match key {
        "dataplane" => DataplaneMove::names(),
        "injection" => InjectionAssumption::names(),
        "mtls" => MTLS_MODES.to_vec(),
        "network-plugin" => NetworkPlugin::names(),
        "node-version" | "revision" | "root-namespace" | "status-port" => Vec::new(),
        _ => vec!["true", "false"],
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
        self.extend([read_data(&json!({ key: value }))?]);
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

#[cfg(test)]
mod tests {
    use super::*;

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
