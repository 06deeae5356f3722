//! Determines which handlers the injector rewrites, and how.
//!
//! Source: Istio 1.10 to 1.31, `pkg/kube/inject/app_probe.go`; first releases measured.

use crate::kube::{ContainerList, ProbeHandler, Slot};
use crate::mesh::{ReleaseChange, Version};

pub use crate::mesh::model::parse_bool;

/// The oldest release whose rewrite is modelled; for older ones, the tool only reports findings.
pub const OLDEST_REWRITE: Version = Version::FIRST_MODELLED_ISTIO;

/// The first release that rewrites lifecycle hooks; older agents do not start with their probers.
pub const HOOKS: Version = Version::new(1, 25);

/// The releases whose template `grpc-simple` contains the opt-out as an annotation. Earlier ones contain it outside of
/// `annotations`.
///
/// Source: Istio 1.12.0, 1.17.2, 1.17.3 and 1.18.0, `manifests/charts/istio-control/istio-discovery/files/grpc-simple.yaml`.
pub const GRPC_SIMPLE_OPTS_OUT: ReleaseChange = ReleaseChange::new(Version::new(1, 18), &[(17, 3)]);

/// The releases whose agent drops the header `Host` of a probe: 1.18.1 and 1.18.2.
///
/// Source: `handleAppProbeHTTPGet` of Istio 1.18.0 to 1.18.3, `pilot/cmd/pilot-agent/status/server.go` (istio#46087).
pub const HOST_HEADER_DROPPED: ReleaseChange =
    ReleaseChange::new(Version::new(1, 18).with_patch(Some(1)), &[])
        .until(Version::new(1, 18).with_patch(Some(3)));

/// Returns the first release that rewrites this handler; `None` if none does.
#[must_use]
pub fn rewritten_since(action: &ProbeHandler, slot: Slot, list: ContainerList) -> Option<Version> {
    if list == ContainerList::Ephemeral {
        return None;
    }
    let kind = match action {
        ProbeHandler::HttpGet(_) => Version::new(1, 1),
        ProbeHandler::TcpSocket { .. } => Version::new(1, 12),
        ProbeHandler::Grpc { .. } => Version::new(1, 13),
        ProbeHandler::Exec | ProbeHandler::Sleep | ProbeHandler::Missing => return None,
    };
    let place = if list == ContainerList::Init {
        Version::new(1, 19)
    } else {
        Version::new(1, 1)
    };
    let slot = if slot.is_lifecycle() {
        HOOKS
    } else {
        Version::new(1, 1)
    };
    Some(kind.max(place).max(slot))
}

/// Returns the path on which the agent serves a handler.
#[must_use]
pub fn agent_path(container: &str, slot: Slot) -> String {
    let (prefix, suffix) = match slot {
        Slot::Liveness => ("app-health", "livez"),
        Slot::Readiness => ("app-health", "readyz"),
        Slot::Startup => ("app-health", "startupz"),
        Slot::PostStart => ("app-lifecycle", "poststartz"),
        Slot::PreStop => ("app-lifecycle", "prestopz"),
    };
    format!("/{prefix}/{container}/{suffix}")
}

/// Returns whether `path` is one that the agent serves, as in a rewritten probe.
#[must_use]
pub fn is_agent_path(path: &str) -> bool {
    let Some((prefix, rest)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return false;
    };
    let Some((container, suffix)) = rest.split_once('/') else {
        return false;
    };
    matches!(prefix, "app-health" | "app-lifecycle")
        && !container.is_empty()
        && matches!(
            suffix,
            "livez" | "readyz" | "startupz" | "prestopz" | "poststartz"
        )
}

/// Returns whether a path of the agent is that of a hook: agents before 1.25 do not start with it.
/// Source: Istio 1.24.6 and 1.25.0, `pilot/cmd/pilot-agent/status/server.go` (`regex`).
#[must_use]
pub fn is_hook_path(path: &str) -> bool {
    is_agent_path(path)
        && (path.starts_with("/app-lifecycle/")
            || path.ends_with("/prestopz")
            || path.ends_with("/poststartz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_paths_are_recognised() {
        assert!(is_agent_path(&agent_path("web", Slot::Readiness)));
        assert!(is_agent_path("/app-lifecycle/web/prestopz"));
        assert!(is_hook_path("/app-lifecycle/web/prestopz"));
        assert!(!is_hook_path("/app-health/web/livez"));
        for path in [
            "/app-health//livez",
            "/app-health/web/live",
            "/healthz",
            "",
            "/app-health/a/b/livez",
        ] {
            assert!(!is_agent_path(path), "{path}");
        }
    }

    #[test]
    fn a_handler_is_rewritten_since_the_latest_of_its_conditions() {
        let tcp = ProbeHandler::TcpSocket {
            port: crate::kube::Port::Number(1),
            host: None,
        };
        let since = |list, slot| rewritten_since(&tcp, slot, list);
        assert_eq!(
            since(ContainerList::Main, Slot::Liveness),
            Some(Version::new(1, 12))
        );
        assert_eq!(
            since(ContainerList::Init, Slot::Liveness),
            Some(Version::new(1, 19))
        );
        assert_eq!(
            since(ContainerList::Main, Slot::PreStop),
            Some(Version::new(1, 25))
        );
        assert_eq!(since(ContainerList::Ephemeral, Slot::Liveness), None);
    }
}
