//! Values of a wrong type because of which istioctl cannot write `mesh.yaml`.
//!
//! Source: Istio 1.31, `createMeshConfig` in `istioctl/pkg/workload/workload.go`.

use std::sync::Arc;

use meshprobe_yaml::{Span, parse_embedded};

use crate::mesh::Version;
use crate::mesh::istio::config_schema::PROXY_CONFIG;
use crate::mesh::istio::proto_type;
use crate::mesh::istio::proxy_config::{ProxyConfig, Unreadable};

/// Returns why istioctl rejects the text of an annotation, if all of its releases do.
pub(super) fn annotation_fault(text: &str) -> Option<String> {
    let config = match ProxyConfig::parse(text) {
        Ok(config) => config,
        Err(Unreadable::Refused(reason)) => return Some(reason),
        Err(Unreadable::Differs(_)) => return None,
    };
    let fault = config.fault(Some(Version::FIRST_MODELLED_ISTIO))?;
    Some(fault.message)
}

/// Returns why all releases of istioctl reject `defaultConfig` in the text of a mesh configuration.
pub(super) fn default_config_fault(text: &str) -> Option<String> {
    let text: Arc<str> = Arc::from(text);
    let tree = parse_embedded(&text, Span::new(0, text.len())).ok()??;
    let config = tree.root()?.get("defaultConfig")?;
    let mut faults = proto_type::faults(config, PROXY_CONFIG).into_iter();
    let fault = faults.find(|fault| fault.since.is_none())?;
    Some(fault.message)
}
