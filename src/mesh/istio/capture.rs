//! Which inbound ports the redirect takes to the sidecar.
//!
//! Source: Istio 1.31, `tools/istio-iptables/pkg/capture/run.go`, injection-template.yaml.

use super::keys::DEFAULT_STATUS_PORT;

/// Ports that the redirect never takes: HBONE, and the sidecar's own (statistics, health).
const NEVER: [u16; 3] = [15008, 15021, 15090];

/// Returns what a port of the sidecar is for; `None` for all others, the agent's included, which
/// can be moved.
///
/// Source: Istio documentation, "Application Requirements", "Ports used by Istio".
#[must_use]
pub(crate) const fn sidecar_port(port: i64) -> Option<&'static str> {
    Some(match port {
        15000 => "its admin interface",
        15001 => "it takes outgoing connections there",
        15004 => "its debug interface",
        15006 => "it takes incoming connections there",
        15008 => "its tunnel",
        15021 => "its own health",
        15053 => "its DNS server",
        15090 => "its statistics",
        _ => return None,
    })
}

/// What a pod says about inbound capture; `None` where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CaptureInput<'a> {
    /// `sidecar.istio.io/interceptionMode`.
    pub interception_mode: Option<&'a str>,
    /// `traffic.sidecar.istio.io/includeInboundPorts`.
    pub include: Option<&'a str>,
    /// `traffic.sidecar.istio.io/excludeInboundPorts`.
    pub exclude: Option<&'a str>,
    /// The port of the agent that is left alone: annotation, else `global.proxy.statusPort`.
    pub status_port: u16,
    /// The CNI plugin sets up the redirect: it leaves 15020 alone too, whatever the port of the
    /// agent is (`cni/pkg/plugin/sidecar_redirect.go`).
    pub cni: bool,
}

/// Why a port is captured or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    /// Everything is captured.
    ByDefault,
    /// The port stands in the include list.
    Included,
    /// Interception is off.
    InterceptionOff,
    /// There is an include list, and the port is not in it.
    NotIncluded,
    /// The port stands in the exclude list.
    Excluded,
    /// The port belongs to the sidecar.
    SidecarPort,
}

impl Capture {
    /// Tells whether a connection to the port ends at the sidecar.
    #[must_use]
    pub(crate) const fn is_captured(self) -> bool {
        matches!(self, Self::ByDefault | Self::Included)
    }

    /// Decides about one port. With an include list, excludes are ignored.
    #[must_use]
    pub(crate) fn of(input: &CaptureInput<'_>, port: u16) -> Self {
        if input.interception_mode == Some("NONE") {
            return Self::InterceptionOff;
        }
        if port == 15008 {
            return Self::SidecarPort;
        }
        match input.include {
            Some(list) if list.trim() != "*" => {
                if lists(list, port) {
                    Self::Included
                } else {
                    Self::NotIncluded
                }
            }
            _ if NEVER.contains(&port) || port == input.status_port => Self::SidecarPort,
            _ if input.cni && port == DEFAULT_STATUS_PORT => Self::SidecarPort,
            _ if input.exclude.is_some_and(|list| lists(list, port)) => Self::Excluded,
            _ => Self::ByDefault,
        }
    }
}

fn lists(list: &str, port: u16) -> bool {
    list.split(',')
        .any(|entry| entry.trim().parse() == Ok(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_list_beats_the_exclude_list() {
        let input = CaptureInput {
            include: Some("8080, 7010"),
            exclude: Some("8080"),
            status_port: 15020,
            ..CaptureInput::default()
        };
        assert_eq!(Capture::of(&input, 8080), Capture::Included);
        assert_eq!(Capture::of(&input, 9000), Capture::NotIncluded);
        let none = CaptureInput {
            include: Some(""),
            ..input
        };
        assert_eq!(Capture::of(&none, 8080), Capture::NotIncluded);
    }

    #[test]
    fn the_agent_is_left_alone() {
        let input = CaptureInput {
            exclude: Some("9000"),
            status_port: 15020,
            ..Default::default()
        };
        assert_eq!(Capture::of(&input, 15020), Capture::SidecarPort);
        assert_eq!(Capture::of(&input, 9000), Capture::Excluded);
        assert_eq!(Capture::of(&input, 8080), Capture::ByDefault);
    }

    #[test]
    fn the_cni_plugin_knows_the_usual_port_only() {
        let input = CaptureInput {
            status_port: 15666,
            ..CaptureInput::default()
        };
        let with_cni = CaptureInput { cni: true, ..input };
        assert_eq!(Capture::of(&input, 15020), Capture::ByDefault);
        assert_eq!(Capture::of(&with_cni, 15020), Capture::SidecarPort);
        assert_eq!(Capture::of(&with_cni, 15555), Capture::ByDefault);
        let listed = CaptureInput {
            include: Some("15020"),
            ..with_cni
        };
        assert_eq!(Capture::of(&listed, 15020), Capture::Included);
    }
}
