//! Namespaces that are enrolled in Cilium's ztunnel (beta, since Cilium 1.19).
//!
//! Source: the documentation of Cilium, "Ztunnel Transparent Encryption (Beta)". It does not describe how ztunnel treats
//! the packets of the kubelet.

use crate::kube::Object;
use crate::mesh::Fact;

use super::keys::MTLS_ENABLED;

/// What shows whether Cilium runs with ztunnel; options cannot state it.
const SETTLE: &str = "`enable-ztunnel` in the ConfigMap `cilium-config`";

/// Returns the fact that the pods of a Namespace are enrolled; `None` if they are not.
#[must_use]
pub fn enrolled(namespace: &Object<'_>) -> Option<Fact<()>> {
    let entry = namespace.label(MTLS_ENABLED)?;
    (entry.value.text() == Some("true")).then_some(())?;
    let message = "the pods of this Namespace are enrolled in Cilium's ztunnel";
    let place = namespace.label_at(entry.value.span(), message);
    let is_on = Fact::assumed(
        (),
        "Cilium runs with `encryption.type: ztunnel`",
        Some(SETTLE),
    );
    Some(Fact::known((), place).depending_on(&is_on))
}
