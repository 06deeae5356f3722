//! Decides which pods get a sidecar: the webhooks' selectors, then `injectRequired`.
//!
//! Source: Istio 1.31, `manifests/charts/istio-control/istio-discovery/templates/
//! mutatingwebhook.yaml` and `revision-tags-mwc.yaml`, `pkg/kube/inject/inject.go`.

use super::keys::SYSTEM_NAMESPACES;
use crate::mesh::Version;

/// The names and defaults of a control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlane {
    /// Its revision (`default` if it has none) and its tags.
    pub names: Vec<String>,
    /// Whether it has no revision or has the tag `default`.
    pub is_default: bool,
    /// `enableNamespacesByDefault`.
    pub namespaces_by_default: bool,
    /// `global.proxy.autoInject`: the policy if no label decides.
    pub policy_enabled: bool,
}

impl Default for ControlPlane {
    fn default() -> Self {
        Self {
            names: vec!["default".into()],
            is_default: true,
            namespaces_by_default: false,
            policy_enabled: true,
        }
    }
}

/// The settings of a pod and its namespace for injection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InjectionInput<'a> {
    /// The name of the namespace.
    pub namespace: &'a str,
    /// Namespace label `istio-injection`.
    pub namespace_injection: Option<&'a str>,
    /// Namespace label `istio.io/rev`.
    pub namespace_revision: Option<&'a str>,
    /// Pod label `sidecar.istio.io/inject`.
    pub label: Option<&'a str>,
    /// Pod annotation `sidecar.istio.io/inject`.
    pub annotation: Option<&'a str>,
    /// Pod label `istio.io/rev`.
    pub revision: Option<&'a str>,
    /// `spec.hostNetwork`.
    pub host_network: bool,
}

impl InjectionInput<'_> {
    /// Returns whether the labels select pods for control planes with the default role. Its webhooks also select the
    /// revision `default` (`manifests/charts/default/templates/mutatingwebhook.yaml`).
    #[must_use]
    pub fn requests_default(&self) -> bool {
        match self.namespace_injection {
            Some(value) => value == "enabled",
            None => self
                .namespace_revision
                .or(self.revision)
                .is_none_or(|name| name == "default"),
        }
    }
}

/// A webhook of the injector's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// The namespace names a revision of this control plane.
    RevisionNamespace,
    /// The pod names a revision of this control plane.
    RevisionObject,
    /// The namespace is labelled `istio-injection=enabled`.
    Namespace,
    /// The pod is labelled `sidecar.istio.io/inject=true`.
    Object,
    /// Every namespace is injected by default.
    Auto,
}

impl Webhook {
    /// Returns the first part of the webhook's name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RevisionNamespace => "rev.namespace",
            Self::RevisionObject => "rev.object",
            Self::Namespace => "namespace",
            Self::Object => "object",
            Self::Auto => "auto",
        }
    }
}

/// Returns the webhook whose selectors match; at most one does.
#[must_use]
pub fn webhook(plane: &ControlPlane, input: &InjectionInput<'_>) -> Option<Webhook> {
    if input.label == Some("false") {
        return None;
    }
    let has_name =
        |name: Option<&str>| name.is_some_and(|name| plane.names.iter().any(|n| n == name));
    let no_namespace_label = input.namespace_injection.is_none();
    if no_namespace_label && has_name(input.namespace_revision) {
        return Some(Webhook::RevisionNamespace);
    }
    let unlabelled = no_namespace_label && input.namespace_revision.is_none();
    if unlabelled && has_name(input.revision) {
        return Some(Webhook::RevisionObject);
    }
    if !plane.is_default {
        return None;
    }
    if input.namespace_injection == Some("enabled") {
        return Some(Webhook::Namespace);
    }
    if !unlabelled || input.revision.is_some() {
        return None;
    }
    match input.label {
        Some("true") => Some(Webhook::Object),
        None if plane.namespaces_by_default && !is_system_namespace(input.namespace) => {
            Some(Webhook::Auto)
        }
        _ => None,
    }
}

/// Returns whether the injector injects a pod that it receives.
///
/// Up to 1.26, any value except y, yes, true and on means "no". From 1.27 on, only "true" and
/// "false" have a meaning, and any other value leaves the decision to the policy. The label has an effect since
/// 1.12. An unknown release is treated as the latest.
#[must_use]
pub fn inject_required(
    policy_enabled: bool,
    input: &InjectionInput<'_>,
    version: Option<Version>,
) -> bool {
    if input.host_network || is_system_namespace(input.namespace) {
        return false;
    }
    let value = input
        .label
        .filter(|_| version.is_none_or(|v| v >= Version::new(1, 12)))
        .or(input.annotation)
        .unwrap_or_default();
    let is_strict = version.is_none_or(|v| v >= Version::new(1, 27));
    match (is_strict, value) {
        (true, "true") => true,
        (true, "false") => false,
        (true, _) | (false, "") => policy_enabled,
        (false, value) => {
            matches!(
                value.to_ascii_lowercase().as_str(),
                "y" | "yes" | "true" | "on"
            )
        }
    }
}

/// Returns whether pods of this control plane's webhooks get a sidecar.
#[must_use]
pub fn is_injected(
    plane: &ControlPlane,
    input: &InjectionInput<'_>,
    version: Option<Version>,
) -> bool {
    webhook(plane, input).is_some() && inject_required(plane.policy_enabled, input, version)
}

/// Returns whether pods of this namespace are never injected.
#[must_use]
pub fn is_system_namespace(namespace: &str) -> bool {
    SYSTEM_NAMESPACES.contains(&namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_inject_changed_in_1_27() {
        let input = InjectionInput {
            annotation: Some("no"),
            ..InjectionInput::default()
        };
        assert!(!inject_required(true, &input, Some(Version::new(1, 26))));
        assert!(inject_required(true, &input, Some(Version::new(1, 27))));
        let input = InjectionInput {
            annotation: Some("YES"),
            ..InjectionInput::default()
        };
        assert!(inject_required(false, &input, Some(Version::new(1, 26))));
        assert!(!inject_required(false, &input, Some(Version::new(1, 27))));
    }
}
