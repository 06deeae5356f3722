//! Derives the hops of a way from its facts.

use meshprobe_mesh::mesh::FaultPlace;

use super::facts::RouteFacts;
use super::hop::{Hop, HopKind};
use super::way::Way;
use super::{agent, sidecar};
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;

impl RouteFacts {
    /// Returns the hops in the order in which the request passes them. Omits what the prediction does not determine; empty if
    /// nothing sends a request.
    #[must_use]
    pub fn hops(&self) -> Vec<Hop> {
        match self.cause {
            None => self.hops_of_machine(),
            Some(cause) => self.hops_of_handler(cause),
        }
    }

    /// Returns the hops of a check that the agent of a virtual machine performs.
    fn hops_of_machine(&self) -> Vec<Hop> {
        let way = Way::new();
        let way = match self.outcome {
            Outcome::Ok => way.pass(HopKind::MachineAgent).pass(HopKind::Application),
            Outcome::Fails => way.fail(HopKind::MachineAgent).miss(HopKind::Application),
            Outcome::TargetChanged | Outcome::AlwaysPasses => {
                way.pass(HopKind::MachineAgent).fail(HopKind::OtherTarget)
            }
            Outcome::Refused | Outcome::InvalidManifest => {
                way.fail(HopKind::ApiServer).miss(HopKind::MachineAgent)
            }
            Outcome::Unknown => way.pass(HopKind::MachineAgent).stop(HopKind::NotKnown),
            Outcome::NotInMesh => way,
        };
        way.hops()
    }

    fn hops_of_handler(&self, cause: Cause) -> Vec<Hop> {
        let way = Way::new();
        let from_kubelet = || Way::new().pass(HopKind::Kubelet);
        let way = match cause {
            Cause::Malformed | Cause::HostForbidden | Cause::StatusPortZero => {
                way.fail(HopKind::ApiServer).miss(HopKind::Kubelet)
            }
            Cause::PodRefused => way.fail(HopKind::Webhook).miss(HopKind::Kubelet),
            Cause::HookUnsupported | Cause::PathWithoutHost => {
                self.end_at_application(way.fail(HopKind::Kubelet))
            }
            Cause::PortUnresolved | Cause::PortOfOtherContainer if !self.targets_agent => {
                way.fail(HopKind::Kubelet).miss(HopKind::Application)
            }
            Cause::NoNetwork => from_kubelet().pass(HopKind::Command),
            Cause::OutboundAccepted => from_kubelet()
                .pass(HopKind::Command)
                .fail(HopKind::Sidecar)
                .miss(HopKind::Service),
            Cause::NoMesh => self.end_at_application(from_kubelet()),
            Cause::OtherHost => from_kubelet().pass(HopKind::OtherTarget),
            Cause::MissingHandler | Cause::Placeholder | Cause::MeshUnknown => {
                from_kubelet().stop(HopKind::NotKnown)
            }
            Cause::Ambient => self.end_at_application(from_kubelet().bypass(HopKind::Ztunnel)),
            Cause::NetworkPluginDrops => {
                self.end_at_application(from_kubelet().fail(HopKind::NetworkPlugin))
            }
            Cause::NetworkPolicyDenies => self.behind_policy(from_kubelet()),
            Cause::ForwardedByProxy => {
                self.end_at_application(from_kubelet().pass(HopKind::Sidecar))
            }
            Cause::CheckedByHelper => self.end_at_application(from_kubelet().pass(HopKind::Helper)),
            Cause::MeshDecides => from_kubelet().stop(HopKind::Sidecar),
            Cause::Other(fault) => self.at_place(fault.place),
            _ if self.targets_agent => agent::way(self, cause),
            _ => sidecar::way(self, cause),
        };
        way.hops()
    }

    /// Returns the way of a handler that a mesh other than Istio breaks.
    fn at_place(&self, place: FaultPlace) -> Way {
        let way = Way::new();
        match place {
            FaultPlace::Webhook => way.fail(HopKind::Webhook).miss(HopKind::Kubelet),
            FaultPlace::Host => way.pass(HopKind::Kubelet).fail(HopKind::OtherTarget),
            FaultPlace::Proxy => {
                self.end_at_application(way.pass(HopKind::Kubelet).fail(HopKind::Sidecar))
            }
            FaultPlace::Helper => {
                self.end_at_application(way.pass(HopKind::Kubelet).fail(HopKind::Helper))
            }
        }
    }

    /// Returns the way past a NetworkPolicy that drops the request.
    fn behind_policy(&self, way: Way) -> Way {
        let way = way.fail(HopKind::NetworkPolicy);
        let way = match self.targets_agent {
            true => way.miss(HopKind::Agent),
            false => way,
        };
        self.end_at_application(way)
    }
}
