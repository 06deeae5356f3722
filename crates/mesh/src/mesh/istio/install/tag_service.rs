//! Services that map a revision tag, in addition to the webhooks of the tag (since Istio 1.28).
//!
//! Source: Istio 1.31, `templates/revision-tags-svc.yaml` of the chart istio-discovery, release note
//! `revision-tags-as-svc`, `istioctl/pkg/tag/util.go`.

use crate::kube::Object;
use crate::mesh::Fact;
use crate::mesh::istio::keys;

use super::carrier::{Carrier, Part};
use super::installation::Install;

/// Returns whether a Service maps a tag.
pub(super) fn concerns(object: &Object<'_>) -> bool {
    object.label(keys::TAG).is_some() && object.label(keys::REVISION).is_some()
}

/// Reads the tag that a Service maps to a revision.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    let tag = object.label(keys::TAG)?.value;
    let part = Part::Tags {
        kind: "Service".to_owned(),
        name: object.label(keys::REVISION)?.value.text()?.to_owned(),
    };
    let name = tag.text()?.to_owned();
    let mut install = Install::of(object, Carrier::Rendered, part);
    let place = object.label_at(tag.span(), format!("tag `{name}` is served here"));
    install.tags.push(Fact::known(name, place));
    Some(install)
}
