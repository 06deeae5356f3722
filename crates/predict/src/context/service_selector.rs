//! The label selector of a Service.

use meshprobe_mesh::kube::{LabelSelector, Object};

/// Returns the label selector of a Service. A Service without one selects no pods.
pub(in crate::context) fn service_selector<'t>(service: &Object<'t>) -> LabelSelector<'t> {
    let spec = service.node.get("spec");
    LabelSelector::from_mapping(spec.and_then(|spec| spec.get("selector")))
}
