//! The guards and notes of `rewrite`: reasons not to rewrite a pod, and information about rewritten pods.
//!
//! The pages are in `docs/rules`.

use super::notice::{Notice, notice};

/// All guards and notes of `rewrite`, sorted by id.
pub const GUARDS: &[Notice] = &[
    notice!(Error, "admission-refused"),
    notice!(Error, "agent-calls-itself"),
    notice!(Note, "ambient"),
    notice!(Error, "annotation-taken"),
    notice!(Error, "container-name"),
    notice!(Error, "context-only"),
    notice!(Error, "custom-template"),
    notice!(Error, "duplicate-container-name"),
    notice!(Error, "env-reference"),
    notice!(Error, "foreign-injector"),
    notice!(Note, "form-kept"),
    notice!(Error, "gateway-template"),
    notice!(Note, "hooks-left"),
    notice!(Error, "hooks-need-release"),
    notice!(Note, "host-network"),
    notice!(Error, "injection-unproven"),
    notice!(Error, "invalid-handler"),
    notice!(Note, "job-immutable"),
    notice!(Error, "knative"),
    notice!(Error, "kustomize-overlay"),
    notice!(Error, "kustomize-patch"),
    notice!(Warning, "newer-release"),
    notice!(Note, "opt-in-replaced"),
    notice!(Note, "opt-out"),
    notice!(Error, "placeholder"),
    notice!(Note, "port-assumed"),
    notice!(Error, "port-range"),
    notice!(Error, "port-unresolved"),
    notice!(Note, "preview"),
    notice!(Error, "preview-only"),
    notice!(Error, "probe-host"),
    notice!(Error, "probe-path"),
    notice!(Error, "prober-env-conflict"),
    notice!(Error, "prober-env-invalid"),
    notice!(Error, "proxy-config-invalid"),
    notice!(Error, "proxy-in-init-containers"),
    notice!(Note, "proxyless"),
    notice!(Error, "proxyless-template"),
    notice!(Note, "release-assumed"),
    notice!(Error, "release-too-old"),
    notice!(Error, "sops"),
    notice!(Error, "status-port-in-use"),
    notice!(Error, "status-port-invalid"),
    notice!(Error, "status-port-mismatch"),
    notice!(Note, "system-namespace"),
    notice!(Error, "two-handlers"),
    notice!(Error, "undo-differs"),
    notice!(Error, "undo-entry-unreadable"),
    notice!(Note, "undo-not-literal"),
    notice!(Error, "unknown-template"),
    notice!(Error, "unrecorded-field"),
    notice!(Note, "vm-mesh-config-missing"),
    notice!(Error, "vm-no-equivalent"),
    notice!(Error, "vm-probe-refused"),
    notice!(Error, "vm-probe-unreadable"),
];

/// Rules and notices that `rewrite` also uses to refuse a pod, because `check` reports the same problem.
const SHARED: &[&str] = &["ambiguous-yaml", "rewritten-without-entry"];

/// Returns whether `rewrite` uses an id to refuse pods: the id of a guard, or of a shared rule or notice.
#[must_use]
pub fn refuses(id: &str) -> bool {
    is_guard(id) || SHARED.contains(&id)
}

/// Returns whether an id belongs to a guard or note of `rewrite`.
#[must_use]
pub fn is_guard(id: &str) -> bool {
    GUARDS.iter().any(|guard| guard.id == id)
}

#[cfg(test)]
mod tests {
    use crate::engine::NOTICES;
    use crate::engine::guard_docs::GUARDS;
    use crate::rules;

    #[test]
    fn shared_ids_belong_to_rules_and_notices() {
        let is_known = |id: &&str| {
            rules::all().iter().any(|rule| rule.id == *id)
                || NOTICES.iter().any(|notice| notice.id == *id)
        };
        assert!(super::SHARED.iter().all(is_known));
    }

    #[test]
    fn guards_are_sorted_and_their_ids_are_unique() {
        assert!(GUARDS.is_sorted_by_key(|guard| guard.id));
        let mut others = NOTICES
            .iter()
            .map(|notice| notice.id)
            .chain(rules::all().iter().map(|rule| rule.id));
        assert!(others.all(|id| !super::is_guard(id)));
    }
}
