//! The identifiers of rules and guards, and the addresses of their pages.

use std::borrow::Borrow;
use std::fmt;
use std::fmt::{Display, Formatter};

use serde::{Serialize, Serializer};

/// The id of a rule, a notice or a guard, in kebab case. All three share one set of ids.
///
/// Only [`RuleNames`](crate::settings::RuleNames) converts text that a user wrote into an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(&'static str);

impl RuleId {
    /// Returns the id with this text; `None` if the text is not in kebab case.
    #[must_use]
    pub const fn from_static(id: &'static str) -> Option<Self> {
        if is_kebab_case(id.as_bytes()) {
            Some(Self(id))
        } else {
            None
        }
    }

    /// Returns the text of the id.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// Returns whether a text consists of lower-case words and digits, each separated by one hyphen.
const fn is_kebab_case(text: &[u8]) -> bool {
    let mut rest = text;
    let mut after_hyphen = true;
    while let [first, others @ ..] = rest {
        let is_hyphen = *first == b'-';
        let is_allowed = if is_hyphen {
            !after_hyphen
        } else {
            first.is_ascii_lowercase() || first.is_ascii_digit()
        };
        if !is_allowed {
            return false;
        }
        after_hyphen = is_hyphen;
        rest = others;
    }
    !after_hyphen
}

impl Display for RuleId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// Allows lookups by the text of an id.
impl Borrow<str> for RuleId {
    fn borrow(&self) -> &str {
        self.0
    }
}

/// Creates the id of a rule, a notice or a guard. A literal that is not in kebab case does not compile.
#[macro_export]
macro_rules! rule_id {
    ($id:literal) => {
        const { $crate::finding::RuleId::from_static($id).expect("the id is in kebab case") }
    };
}
pub use rule_id;

/// The address of the documentation, to which reports link: the folder `docs` of the repository. When the site that
/// `.github/workflows/pages.yml` publishes is live, this is its address.
pub const DOCS_URL: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs");

/// Returns the URL of a page, which is a path below `docs` such as `configuration.md`, with an optional anchor.
#[must_use]
pub fn page_url(page: &str) -> String {
    if DOCS_URL.contains("/blob/") {
        format!("{DOCS_URL}/{page}")
    } else {
        format!("{DOCS_URL}/{}", page.replacen(".md", ".html", 1))
    }
}

/// Returns the URL of the documentation of a rule, notice or guard.
#[must_use]
pub fn docs_url(rule: RuleId) -> String {
    page_url(&format!("rules/{rule}.md"))
}

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
    use super::*;

    #[test]
    fn ids_are_in_kebab_case() {
        for id in ["a", "probe-host", "grpc-probe-needs-1-13"] {
            assert_eq!(RuleId::from_static(id).map(RuleId::as_str), Some(id));
        }
        for text in ["", "-", "a-", "-a", "a--b", "Probe", "a_b", "a b", "ä"] {
            assert_eq!(RuleId::from_static(text), None, "{text}");
        }
    }

    #[test]
    fn ids_are_aligned_like_texts() {
        let id = RuleId::from_static("a-b").unwrap();
        assert_eq!(format!("{id:<5}|"), "a-b  |");
    }

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
