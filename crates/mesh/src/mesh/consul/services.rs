//! The services that a pod represents.

use meshprobe_yaml::Entry;

use super::keys::SERVICE;
use crate::kube::Workload;

/// Returns the annotation of a pod that represents several services: it contains one name for each of the ports.
#[must_use]
pub fn several_services<'t>(workload: &Workload<'t>) -> Option<Entry<'t>> {
    let entry = workload.template.annotation(SERVICE)?;
    let text = entry.value.text()?;
    text.contains(',').then_some(entry)
}
