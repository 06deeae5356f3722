//! The guards of `rewrite`: why a pod is left as it was, and what to know about one that was not.
//!
//! Each text is a page of its own in `guards/`.

use crate::finding::Severity;

use super::notices::Notice;

/// A guard that refuses, or a word about a pod, and its page.
macro_rules! page {
    ($severity:ident, $id:literal) => {
        Notice {
            id: $id,
            severity: Severity::$severity,
            docs: include_str!(concat!("guards/", $id, ".md")),
        }
    };
}

/// All guards and notes of `rewrite`, sorted by id.
pub const GUARDS: &[Notice] = &[
    page!(Error, "admission-refused"),
    page!(Error, "agent-calls-itself"),
    page!(Note, "ambient"),
    page!(Error, "annotation-taken"),
    page!(Error, "container-name"),
    page!(Error, "context-only"),
    page!(Error, "custom-template"),
    page!(Error, "duplicate-container-name"),
    page!(Error, "env-reference"),
    page!(Error, "foreign-injector"),
    page!(Note, "form-kept"),
    page!(Error, "gateway-template"),
    page!(Note, "hooks-left"),
    page!(Error, "hooks-need-release"),
    page!(Note, "host-network"),
    page!(Error, "injection-unproven"),
    page!(Error, "invalid-handler"),
    page!(Note, "job-immutable"),
    page!(Error, "knative"),
    page!(Error, "kustomize-overlay"),
    page!(Error, "kustomize-patch"),
    page!(Warning, "newer-release"),
    page!(Note, "opt-in-replaced"),
    page!(Note, "opt-out"),
    page!(Error, "placeholder"),
    page!(Note, "port-assumed"),
    page!(Error, "port-range"),
    page!(Error, "port-unresolved"),
    page!(Note, "preview"),
    page!(Error, "preview-only"),
    page!(Error, "probe-host"),
    page!(Error, "probe-path"),
    page!(Error, "prober-env-conflict"),
    page!(Error, "prober-env-invalid"),
    page!(Error, "proxy-config-invalid"),
    page!(Error, "proxy-in-init-containers"),
    page!(Note, "proxyless"),
    page!(Error, "proxyless-template"),
    page!(Note, "release-assumed"),
    page!(Error, "release-too-old"),
    page!(Error, "sops"),
    page!(Error, "status-port-in-use"),
    page!(Error, "status-port-invalid"),
    page!(Error, "status-port-mismatch"),
    page!(Note, "system-namespace"),
    page!(Error, "two-handlers"),
    page!(Error, "undo-differs"),
    page!(Error, "undo-entry-unreadable"),
    page!(Note, "undo-not-literal"),
    page!(Error, "unknown-template"),
    page!(Error, "unrecorded-field"),
    page!(Note, "vm-mesh-config-missing"),
    page!(Error, "vm-no-equivalent"),
    page!(Error, "vm-probe-refused"),
    page!(Error, "vm-probe-unreadable"),
];

/// Rules and notices by whose names `rewrite` refuses a pod too: the fault is one for `check` as well.
const SHARED: &[&str] = &["ambiguous-yaml", "rewritten-without-entry"];

/// Tells whether `rewrite` refuses pods by this id: that of a guard, or of a rule.
#[must_use]
pub fn refuses(id: &str) -> bool {
    is_guard(id) || SHARED.contains(&id)
}

/// Tells whether an id is that of a guard or note of `rewrite`.
#[must_use]
pub fn is_guard(id: &str) -> bool {
    GUARDS.iter().any(|guard| guard.id == id)
}

#[cfg(test)]
mod tests {
    use super::GUARDS;
    use crate::engine::NOTICES;
    use crate::rules;

    #[test]
    fn every_page_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/engine/guards");
        for page in std::fs::read_dir(folder).unwrap() {
            let path = page.unwrap().path();
            let id = path.file_stem().unwrap().to_str().unwrap();
            assert!(super::is_guard(id), "{id}");
        }
    }

    #[test]
    fn ids_that_are_shared_are_those_of_rules_and_notices() {
        let is_known = |id: &&str| {
            rules::all().iter().any(|rule| rule.id == *id)
                || NOTICES.iter().any(|notice| notice.id == *id)
        };
        assert!(super::SHARED.iter().all(is_known));
    }

    #[test]
    fn guards_are_sorted_and_share_no_id() {
        assert!(GUARDS.is_sorted_by_key(|guard| guard.id));
        let others = NOTICES.iter().map(|notice| notice.id);
        let mut others = others.chain(rules::all().iter().map(|rule| rule.id));
        assert!(others.all(|id| !super::is_guard(id)));
    }
}
