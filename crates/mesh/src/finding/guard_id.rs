//! The ids of the guards of `rewrite`.

use std::fmt::{self, Display, Formatter};

use super::rule_id::{RuleId, rule_id};

/// The id of a guard or note of `rewrite`: a reason not to rewrite a pod, or information about a rewritten pod.
///
/// The constants are the only values, so code that names an unknown guard does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuardId(RuleId);

/// Calls a macro with all guards and notes of `rewrite`, sorted: the constant, the id and the usual severity of each.
#[macro_export]
macro_rules! guards {
    ($callback:ident) => {
        $callback! {
            ALL:
            ADMISSION_REFUSED = "admission-refused", Error;
            AGENT_CALLS_ITSELF = "agent-calls-itself", Error;
            AMBIENT = "ambient", Note;
            ANNOTATION_TAKEN = "annotation-taken", Error;
            CONTAINER_NAME = "container-name", Error;
            CONTEXT_ONLY = "context-only", Error;
            CUSTOM_TEMPLATE = "custom-template", Error;
            DUPLICATE_CONTAINER_NAME = "duplicate-container-name", Error;
            ENV_REFERENCE = "env-reference", Error;
            FOREIGN_INJECTOR = "foreign-injector", Error;
            FORM_CHOSEN = "form-chosen", Note;
            FORM_KEPT = "form-kept", Note;
            GATEWAY_TEMPLATE = "gateway-template", Error;
            HOOKS_LEFT = "hooks-left", Note;
            HOOKS_NEED_RELEASE = "hooks-need-release", Error;
            HOST_KEPT = "host-kept", Note;
            HOST_NETWORK = "host-network", Note;
            INJECTION_UNPROVEN = "injection-unproven", Error;
            INVALID_HANDLER = "invalid-handler", Error;
            JOB_IMMUTABLE = "job-immutable", Note;
            KNATIVE = "knative", Error;
            KUSTOMIZE_OVERLAY = "kustomize-overlay", Error;
            KUSTOMIZE_PATCH = "kustomize-patch", Error;
            NEWER_RELEASE = "newer-release", Warning;
            OPT_IN_REPLACED = "opt-in-replaced", Note;
            OPT_OUT = "opt-out", Note;
            PLACEHOLDER = "placeholder", Error;
            PORT_ASSUMED = "port-assumed", Note;
            PORT_RANGE = "port-range", Error;
            PORT_UNRESOLVED = "port-unresolved", Error;
            PREVIEW = "preview", Note;
            PREVIEW_ONLY = "preview-only", Error;
            PROBE_HOST = "probe-host", Error;
            PROBE_PATH = "probe-path", Error;
            PROBER_ENV_CONFLICT = "prober-env-conflict", Error;
            PROBER_ENV_INVALID = "prober-env-invalid", Error;
            PROXY_CONFIG_INVALID = "proxy-config-invalid", Error;
            PROXY_IN_INIT_CONTAINERS = "proxy-in-init-containers", Error;
            PROXYLESS = "proxyless", Note;
            PROXYLESS_TEMPLATE = "proxyless-template", Error;
            RELEASE_ASSUMED = "release-assumed", Note;
            RELEASE_NOT_PROVEN = "release-not-proven", Error;
            RELEASE_TOO_OLD = "release-too-old", Error;
            SOPS = "sops", Error;
            STATUS_PORT_IN_USE = "status-port-in-use", Error;
            STATUS_PORT_INVALID = "status-port-invalid", Error;
            STATUS_PORT_MISMATCH = "status-port-mismatch", Error;
            SYSTEM_NAMESPACE = "system-namespace", Note;
            TWO_HANDLERS = "two-handlers", Error;
            UNDO_DIFFERS = "undo-differs", Error;
            UNDO_ENTRY_UNREADABLE = "undo-entry-unreadable", Error;
            UNDO_NOT_LITERAL = "undo-not-literal", Note;
            UNKNOWN_KIND = "unknown-kind", Warning;
            UNKNOWN_TEMPLATE = "unknown-template", Error;
            UNRECORDED_FIELD = "unrecorded-field", Error;
            VM_MESH_CONFIG_MISSING = "vm-mesh-config-missing", Note;
            VM_PROBE_REFUSED = "vm-probe-refused", Error;
            VM_PROBE_UNREADABLE = "vm-probe-unreadable", Error;
        }
    };
}

/// Declares a constant for each id, and a list of them.
macro_rules! guard_ids {
    ($list:ident: $($name:ident = $id:literal, $severity:ident;)+) => {
        impl GuardId {
            $(
                #[doc = concat!("The id `", $id, "`.")]
                pub const $name: Self = Self(rule_id!($id));
            )+

            /// The ids, sorted.
            pub const $list: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

guards!(guard_ids);

// The ids of rules and notices that `rewrite` also uses as guards, because the same problem prevents a rewrite.
guard_ids! {
    SHARED:
    AMBIGUOUS_YAML = "ambiguous-yaml", Error;
    REWRITTEN_WITHOUT_ENTRY = "rewritten-without-entry", Error;
    SEVERAL_MESHES = "several-meshes", Error;
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
