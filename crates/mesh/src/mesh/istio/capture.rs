//! Traffic capture: which inbound ports are redirected to the sidecar.
//!
//! Source: Istio 1.31, `tools/istio-iptables/pkg/capture/run.go`, injection-template.yaml.

use super::keys::DEFAULT_STATUS_PORT;

/// Ports that are never captured: HBONE, and the sidecar's own (statistics, health).
const NEVER: [u16; 3] = [15008, 15021, 15090];

/// Returns the purpose of a port of the sidecar; `None` for all other ports, including that of the agent, which
/// can be changed.
///
/// Source: Istio documentation, "Application Requirements", "Ports used by Istio".
#[must_use]
pub const fn sidecar_port(port: i64) -> Option<&'static str> {
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

/// The settings of a pod for inbound capture; `None` if it does not set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureInput<'a> {
    /// `sidecar.istio.io/interceptionMode`.
    pub interception_mode: Option<&'a str>,
    /// `traffic.sidecar.istio.io/includeInboundPorts`.
    pub include: Option<&'a str>,
    /// `traffic.sidecar.istio.io/excludeInboundPorts`.
    pub exclude: Option<&'a str>,
    /// The port of the agent, which is excluded: annotation, else `global.proxy.statusPort`.
    pub status_port: u16,
    /// Whether the CNI plugin sets up the capture: it also excludes 15020, whatever the port of the
    /// agent is (`cni/pkg/plugin/sidecar_redirect.go`).
    pub cni: bool,
}

/// Why a port is captured or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// Everything is captured.
    ByDefault,
    /// The include list contains the port.
    Included,
    /// Interception is off.
    InterceptionOff,
    /// There is an include list that does not contain the port.
    NotIncluded,
    /// The exclude list contains the port.
    Excluded,
    /// The port belongs to the sidecar.
    SidecarPort,
}

impl Capture {
    /// Returns whether a connection to the port ends at the sidecar.
    #[must_use]
    pub const fn is_captured(self) -> bool {
        matches!(self, Self::ByDefault | Self::Included)
    }
}

/// The parsed form of [`CaptureInput`], for all ports of a pod.
#[derive(Clone, Debug)]
pub struct CaptureRules {
    is_off: bool,
    /// `None` for all ports.
    include: Option<PortList>,
    exclude: PortList,
    status_port: u16,
    cni: bool,
}

impl CaptureRules {
    /// Parses the lists of ports.
    #[must_use]
    pub fn new(input: &CaptureInput<'_>) -> Self {
        let include = input.include.filter(|list| list.trim() != "*");
        Self {
            is_off: input.interception_mode == Some("NONE"),
            include: include.map(PortList::parse),
            exclude: PortList::parse(input.exclude.unwrap_or_default()),
            status_port: input.status_port,
            cni: input.cni,
        }
    }

    /// Decides whether one port is captured. With an include list, the exclude list is ignored.
    #[must_use]
    pub fn capture(&self, port: u16) -> Capture {
        if self.is_off {
            return Capture::InterceptionOff;
        }
        if port == 15008 {
            return Capture::SidecarPort;
        }
        match &self.include {
            Some(list) if list.contains(port) => Capture::Included,
            Some(_) => Capture::NotIncluded,
            None if NEVER.contains(&port) || port == self.status_port => Capture::SidecarPort,
            None if self.cni && port == DEFAULT_STATUS_PORT => Capture::SidecarPort,
            None if self.exclude.contains(port) => Capture::Excluded,
            None => Capture::ByDefault,
        }
    }
}

/// The ports of a list, sorted; entries that are not ports are skipped.
#[derive(Clone, Debug)]
struct PortList(Vec<u16>);

impl PortList {
    fn parse(list: &str) -> Self {
        let mut ports: Vec<u16> = list
            .split(',')
            .filter_map(|entry| entry.trim().parse().ok())
            .collect();
        ports.sort_unstable();
        Self(ports)
    }

    fn contains(&self, port: u16) -> bool {
        self.0.binary_search(&port).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_list_takes_precedence_over_the_exclude_list() {
        let input = CaptureInput {
            include: Some("8080, 7010"),
            exclude: Some("8080"),
            status_port: 15020,
            ..CaptureInput::default()
        };
        assert_eq!(CaptureRules::new(&input).capture(8080), Capture::Included);
        assert_eq!(
            CaptureRules::new(&input).capture(9000),
            Capture::NotIncluded
        );
        let none = CaptureInput {
            include: Some(""),
            ..input
        };
        assert_eq!(CaptureRules::new(&none).capture(8080), Capture::NotIncluded);
    }

    #[test]
    fn the_port_of_the_agent_is_not_captured() {
        let input = CaptureInput {
            exclude: Some("9000"),
            status_port: 15020,
            ..Default::default()
        };
        assert_eq!(
            CaptureRules::new(&input).capture(15020),
            Capture::SidecarPort
        );
        assert_eq!(CaptureRules::new(&input).capture(9000), Capture::Excluded);
        assert_eq!(CaptureRules::new(&input).capture(8080), Capture::ByDefault);
    }

    #[test]
    fn the_cni_plugin_only_excludes_the_default_port() {
        let input = CaptureInput {
            status_port: 15666,
            ..CaptureInput::default()
        };
        let with_cni = CaptureInput { cni: true, ..input };
        assert_eq!(CaptureRules::new(&input).capture(15020), Capture::ByDefault);
        assert_eq!(
            CaptureRules::new(&with_cni).capture(15020),
            Capture::SidecarPort
        );
        assert_eq!(
            CaptureRules::new(&with_cni).capture(15555),
            Capture::ByDefault
        );
        let listed = CaptureInput {
            include: Some("15020"),
            ..with_cni
        };
        assert_eq!(CaptureRules::new(&listed).capture(15020), Capture::Included);
    }
}
