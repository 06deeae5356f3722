//! Facets: small copyable views of a [`Context`] that group the facts about Istio by subject. This file declares them;
//! the module of each subject, such as `mtls` or `ports`, implements their methods.

use meshprobe_mesh::kube::{Object, Workload};

use crate::context::run_context::Context;

/// The facts of Istio about a workload. Its methods return the facets of single subjects.
#[derive(Clone, Copy, Debug)]
pub struct Istio<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

/// Facts about injection: whether the pods of a workload get a sidecar, are in ambient mode, or are not in the mesh.
#[derive(Clone, Copy, Debug)]
pub struct Injection<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

/// Facts about the ports of the agent, and about the capture of inbound ports.
#[derive(Clone, Copy, Debug)]
pub struct Ports<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

/// Facts about the injector's rewrite: whether it rewrites the probes of a workload, and how.
#[derive(Clone, Copy, Debug)]
pub struct Rewriting<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

/// Facts about the order in which the sidecar and the application start.
#[derive(Clone, Copy, Debug)]
pub struct Startup<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

/// The decisions of the `AuthorizationPolicy`s that apply to a workload.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationFacts<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

/// Facts about a policy, such as the pods to which it applies and the settings that it inherits.
#[derive(Clone, Copy, Debug)]
pub struct IstioPolicy<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) policy: &'c Object<'t>,
}

/// Facts about the installation of Istio that is nearest to an object other than a workload, such as a policy.
#[derive(Clone, Copy, Debug)]
pub struct IstioNear<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) object: &'c Object<'t>,
}

/// The control planes of the tree.
#[derive(Clone, Copy, Debug)]
pub struct ControlPlanes<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
}

/// All `PeerAuthentication`s of the tree.
#[derive(Clone, Copy, Debug)]
pub struct PeerAuthentications<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
}

impl<'t> Context<'t> {
    /// Returns the facts of Istio about a workload.
    #[must_use]
    pub const fn istio<'c>(&'c self, workload: &'c Workload<'t>) -> Istio<'c, 't> {
        Istio {
            context: self,
            workload,
        }
    }

    /// Returns the facts about a policy of Istio.
    #[must_use]
    pub const fn istio_policy<'c>(&'c self, policy: &'c Object<'t>) -> IstioPolicy<'c, 't> {
        IstioPolicy {
            context: self,
            policy,
        }
    }

    /// Returns the facts about the installation that is nearest to an object other than a workload.
    #[must_use]
    pub const fn istio_near<'c>(&'c self, object: &'c Object<'t>) -> IstioNear<'c, 't> {
        IstioNear {
            context: self,
            object,
        }
    }

    /// Returns the control planes of the tree.
    #[must_use]
    pub const fn installations(&self) -> ControlPlanes<'_, 't> {
        ControlPlanes { context: self }
    }

    /// Returns all `PeerAuthentication`s of the tree.
    #[must_use]
    pub const fn peer_authentications(&self) -> PeerAuthentications<'_, 't> {
        PeerAuthentications { context: self }
    }
}

impl<'c, 't> Istio<'c, 't> {
    /// Returns the facts about how the pods take part in the mesh.
    #[must_use]
    pub const fn injection(self) -> Injection<'c, 't> {
        Injection {
            context: self.context,
            workload: self.workload,
        }
    }

    /// Returns the facts about the ports of the agent and the capture of inbound ports.
    #[must_use]
    pub const fn ports(self) -> Ports<'c, 't> {
        Ports {
            context: self.context,
            workload: self.workload,
        }
    }

    /// Returns the facts about the injector's rewrite of the probes.
    #[must_use]
    pub const fn rewriting(self) -> Rewriting<'c, 't> {
        Rewriting {
            context: self.context,
            workload: self.workload,
        }
    }

    /// Returns the facts about the order in which the sidecar and the application start.
    #[must_use]
    pub const fn startup(self) -> Startup<'c, 't> {
        Startup {
            context: self.context,
            workload: self.workload,
        }
    }

    /// Returns the decisions of the `AuthorizationPolicy`s that apply.
    #[must_use]
    pub const fn authorization(self) -> AuthorizationFacts<'c, 't> {
        AuthorizationFacts {
            context: self.context,
            workload: self.workload,
        }
    }
}

impl<'c, 't> Injection<'c, 't> {
    /// Returns all facts of Istio for the workload.
    pub(in crate::context) const fn istio(self) -> Istio<'c, 't> {
        self.context.istio(self.workload)
    }
}

impl<'c, 't> Ports<'c, 't> {
    /// Returns all facts of Istio for the workload.
    pub(in crate::context) const fn istio(self) -> Istio<'c, 't> {
        self.context.istio(self.workload)
    }
}

impl<'c, 't> Rewriting<'c, 't> {
    /// Returns all facts of Istio for the workload.
    pub(in crate::context) const fn istio(self) -> Istio<'c, 't> {
        self.context.istio(self.workload)
    }
}

impl<'c, 't> Startup<'c, 't> {
    /// Returns all facts of Istio for the workload.
    pub(in crate::context) const fn istio(self) -> Istio<'c, 't> {
        self.context.istio(self.workload)
    }
}

impl<'c, 't> AuthorizationFacts<'c, 't> {
    /// Returns all facts of Istio for the workload.
    pub(in crate::context) const fn istio(self) -> Istio<'c, 't> {
        self.context.istio(self.workload)
    }
}
