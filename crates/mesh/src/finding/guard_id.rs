//! The ids of the guards of `rewrite`.

use std::fmt::{self, Display, Formatter};

use super::rule_id::{RuleId, rule_id};

/// The id of a guard or note of `rewrite`: a reason not to rewrite a pod, or information about a rewritten pod.
///
/// The constants are the only values, so code that names an unknown guard does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuardId(RuleId);

/// Declares a constant for each id, and a list of them.
macro_rules! guard_ids {
    ($(#[$list_doc:meta])* $list:ident: $($name:ident = $id:literal),+ $(,)?) => {
        impl GuardId {
            $(
                #[doc = concat!("The id `", $id, "`.")]
                pub const $name: Self = Self(rule_id!($id));
            )+

            $(#[$list_doc])*
            pub const $list: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

guard_ids! {
    /// The guards and notes of `rewrite`, sorted.
    ALL:
    ADMISSION_REFUSED = "admission-refused",
    AGENT_CALLS_ITSELF = "agent-calls-itself",
    AMBIENT = "ambient",
    ANNOTATION_TAKEN = "annotation-taken",
    CONTAINER_NAME = "container-name",
    CONTEXT_ONLY = "context-only",
    CUSTOM_TEMPLATE = "custom-template",
    DUPLICATE_CONTAINER_NAME = "duplicate-container-name",
    ENV_REFERENCE = "env-reference",
    FOREIGN_INJECTOR = "foreign-injector",
    FORM_CHOSEN = "form-chosen",
    FORM_KEPT = "form-kept",
    GATEWAY_TEMPLATE = "gateway-template",
    HOOKS_LEFT = "hooks-left",
    HOOKS_NEED_RELEASE = "hooks-need-release",
    HOST_KEPT = "host-kept",
    HOST_NETWORK = "host-network",
    INJECTION_UNPROVEN = "injection-unproven",
    INVALID_HANDLER = "invalid-handler",
    JOB_IMMUTABLE = "job-immutable",
    KNATIVE = "knative",
    KUSTOMIZE_OVERLAY = "kustomize-overlay",
    KUSTOMIZE_PATCH = "kustomize-patch",
    NEWER_RELEASE = "newer-release",
    OPT_IN_REPLACED = "opt-in-replaced",
    OPT_OUT = "opt-out",
    PLACEHOLDER = "placeholder",
    PORT_ASSUMED = "port-assumed",
    PORT_RANGE = "port-range",
    PORT_UNRESOLVED = "port-unresolved",
    PREVIEW = "preview",
    PREVIEW_ONLY = "preview-only",
    PROBE_HOST = "probe-host",
    PROBE_PATH = "probe-path",
    PROBER_ENV_CONFLICT = "prober-env-conflict",
    PROBER_ENV_INVALID = "prober-env-invalid",
    PROXY_CONFIG_INVALID = "proxy-config-invalid",
    PROXY_IN_INIT_CONTAINERS = "proxy-in-init-containers",
    PROXYLESS = "proxyless",
    PROXYLESS_TEMPLATE = "proxyless-template",
    RELEASE_ASSUMED = "release-assumed",
    RELEASE_NOT_PROVEN = "release-not-proven",
    RELEASE_TOO_OLD = "release-too-old",
    SOPS = "sops",
    STATUS_PORT_IN_USE = "status-port-in-use",
    STATUS_PORT_INVALID = "status-port-invalid",
    STATUS_PORT_MISMATCH = "status-port-mismatch",
    SYSTEM_NAMESPACE = "system-namespace",
    TWO_HANDLERS = "two-handlers",
    UNDO_DIFFERS = "undo-differs",
    UNDO_ENTRY_UNREADABLE = "undo-entry-unreadable",
    UNDO_NOT_LITERAL = "undo-not-literal",
    UNKNOWN_KIND = "unknown-kind",
    UNKNOWN_TEMPLATE = "unknown-template",
    UNRECORDED_FIELD = "unrecorded-field",
    VM_MESH_CONFIG_MISSING = "vm-mesh-config-missing",
    VM_NO_EQUIVALENT = "vm-no-equivalent",
    VM_PROBE_REFUSED = "vm-probe-refused",
    VM_PROBE_UNREADABLE = "vm-probe-unreadable",
}

guard_ids! {
    /// The ids of rules and notices that `rewrite` also uses as guards, because the same problem prevents a rewrite.
    SHARED:
    AMBIGUOUS_YAML = "ambiguous-yaml",
    REWRITTEN_WITHOUT_ENTRY = "rewritten-without-entry",
    SEVERAL_MESHES = "several-meshes",
}

impl GuardId {
    /// Returns the guard with this id; `None` if it belongs to a rule or notice, or is unknown.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|guard| guard.as_str() == id)
    }

    /// Converts to the id type that rules, notices and guards share.
    #[must_use]
    pub const fn rule(self) -> RuleId {
        self.0
    }

    /// Returns the text of the id.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0.as_str()
    }
}

impl RuleId {
    /// Returns whether the id belongs to a guard or note of `rewrite`.
    #[must_use]
    pub fn is_guard(self) -> bool {
        GuardId::ALL.iter().any(|guard| guard.0 == self)
    }

    /// Returns whether `rewrite` reports findings with this id: that of a guard or note of `rewrite`, or a shared one.
    #[must_use]
    pub fn refuses_rewrite(self) -> bool {
        self.is_guard() || GuardId::SHARED.iter().any(|guard| guard.0 == self)
    }
}

impl From<GuardId> for RuleId {
    fn from(guard: GuardId) -> Self {
        guard.0
    }
}

impl Display for GuardId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::GuardId;

    #[test]
    fn guards_are_sorted_and_separate_from_shared_ids() {
        assert!(GuardId::ALL.is_sorted());
        assert!(
            GuardId::SHARED
                .iter()
                .all(|shared| !GuardId::ALL.contains(shared))
        );
    }
}
