//! Parts of the policies that fixes write.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Version;
use meshprobe_yaml::Value;

/// Returns a mapping with one entry.
pub(in crate::rules) fn map(key: &str, value: Value) -> Value {
    Value::Map(vec![(key.to_owned(), value)])
}

/// Returns the entry `selector` of a policy for the pods of a Service; `None` if the Service has no selector of texts.
pub(in crate::rules) fn selector_of_service(service: &Object<'_>) -> Option<(String, Value)> {
    let selector = service.node.get("spec")?.get("selector")?;
    let labels: Option<Vec<(String, Value)>> = selector
        .effective_entries()
        .into_iter()
        .map(|label| {
            Some((
                label.key.text()?.to_owned(),
                Value::from(label.value.text()?),
            ))
        })
        .collect();
    let labels = map("matchLabels", Value::Map(labels?));
    Some(("selector".to_owned(), labels))
}

/// The release since which the mesh serves version `v1` of PeerAuthentication.
///
/// Source: Istio 1.22.0, release notes ("v1 APIs"), and `manifests/charts/base/crds/crd-all.gen.yaml`.
const SECURITY_V1: Version = Version::new(1, 22);

/// Returns the API version of a PeerAuthentication that a release serves. The newest release is assumed if it is not
/// known.
pub(in crate::rules) fn security_api(release: Option<Version>) -> &'static str {
    match release {
        Some(release) if release < SECURITY_V1 => "security.istio.io/v1beta1",
        _ => "security.istio.io/v1",
    }
}
