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
    notice!(Note, "form-chosen"),
    notice!(Note, "form-kept"),
    notice!(Error, "gateway-template"),
    notice!(Note, "hooks-left"),
    notice!(Error, "hooks-need-release"),
    notice!(Note, "host-kept"),
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
    notice!(Error, "release-not-proven"),
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
    notice!(Warning, "unknown-kind"),
    notice!(Error, "unknown-template"),
    notice!(Error, "unrecorded-field"),
    notice!(Note, "vm-mesh-config-missing"),
    notice!(Error, "vm-no-equivalent"),
    notice!(Error, "vm-probe-refused"),
    notice!(Error, "vm-probe-unreadable"),
];

#[cfg(test)]
mod tests {
    use super::GUARDS;
    use crate::engine::rule_names;
    use meshprobe_mesh::finding::{GuardId, RuleId};

    #[test]
    fn every_guard_has_a_page() {
        let documented: Vec<RuleId> = GUARDS.iter().map(|guard| guard.id).collect();
        let declared: Vec<RuleId> = GuardId::ALL.iter().map(|guard| guard.rule()).collect();
        assert_eq!(documented, declared);
    }

    #[test]
    fn only_shared_ids_belong_to_rules_and_notices() {
        let reported = rule_names().reported();
        assert!(
            GuardId::SHARED
                .iter()
                .all(|guard| reported.contains(&guard.rule()))
        );
        assert!(
            GuardId::ALL
                .iter()
                .all(|guard| !reported.contains(&guard.rule()))
        );
    }
}
