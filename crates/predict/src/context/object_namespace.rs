//! The namespace of an object.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::settings::Settings;

/// Returns the namespace of an object, and whether the manifest, an option or its deployment sets
/// it. The namespace is `default` if nothing sets it.
pub(in crate::context) fn namespace_of<'t>(
    object: &Object<'t>,
    settings: &'t Settings,
) -> (&'t str, bool) {
    let given = settings.namespace.as_deref();
    let deployed = || Some(object.destination.as_ref()?.namespace);
    match object.namespace().or(given).or_else(deployed) {
        Some(namespace) => (namespace, true),
        None => ("default", false),
    }
}
