//! A change of behaviour of a release, and between which releases it makes a difference.

use meshprobe_mesh::mesh::{ReleaseChange, Version};

/// What a change of behaviour affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    TcpSocketRewritten,
    GrpcRewritten,
    ProxylessOptOut,
    GrpcSimpleOptOut,
    InitContainersRewritten,
    HooksRewritten,
    HookEntriesAccepted,
    ProberEnvMerged,
    ProberEnvAppended,
    InjectLabelExact,
    RestartPolicyKept,
    NativeSidecarsByDefault,
    NativeAnnotationRead,
    InjectLabelRead,
    TcpSwitchRemoved,
    RewriteByDefault,
    PodAddressCalled,
    LegacyPoliciesIgnored,
    AmbientBypassRead,
    NamespacesExcluded,
    HostPodsExcludedFirst,
    HostPodsExclusionLost,
    HostPodsExcluded,
    TagServicesRead,
    HostHeaderDropped,
    HostHeaderKept,
    QuantitiesValidated,
    InterfacesValidated,
    PrometheusPortsChecked,
    MachineCertificatesVerified,
    PathTemplatesRead,
    OwnInterfacesInAmbient,
}

/// Which releases differ: those with a behaviour from those before them, or from those after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Begins,
    Ends,
}

/// A change of behaviour, with its source.
#[derive(Debug)]
pub(super) struct ReleaseFact {
    pub(super) effect: Effect,
    /// The releases that have the behaviour.
    pub(super) change: ReleaseChange,
    /// What the fact is about.
    pub(super) edge: Edge,
    /// The release as text, with the patch releases that have the change.
    pub(super) release: &'static str,
    /// What the release does.
    pub(super) text: &'static str,
    /// The file or the issue that shows it.
    pub(super) source: &'static str,
    /// The rules whose findings depend on it.
    pub(super) rules: &'static [&'static str],
}

impl ReleaseFact {
    /// Returns the text of the cause.
    pub(super) fn sentence(&self) -> String {
        format!(
            "since Istio {}, {} ({})",
            self.release, self.text, self.source
        )
    }

    /// Returns whether only the newer of two releases has the behaviour, or only the older one if the fact is its end. The
    /// newest patch level is assumed if none is known.
    pub(super) fn separates(&self, older: Version, newer: Version) -> bool {
        let is_in = |release| self.change.is_in(Some(release));
        match self.edge {
            Edge::Begins => !is_in(older) && is_in(newer),
            Edge::Ends => is_in(older) && !is_in(newer),
        }
    }

    /// Returns whether the patch level of one release decides, and that of the other does not.
    pub(super) fn settles(&self, older: Version, newer: Version) -> bool {
        let depends = |release| self.change.depends_on_patch(Some(release));
        match self.edge {
            Edge::Begins => depends(older) && !depends(newer) && self.change.is_in(Some(newer)),
            Edge::Ends => false,
        }
    }

    /// Returns the patch level with which the behaviour of a minor release changes, if the patch level of the release is
    /// not known.
    pub(super) fn open_patch(&self, release: Version) -> Option<u16> {
        let patch = match self.edge {
            Edge::Begins => self.change.first_patch(release),
            Edge::Ends => self.change.lost_patch(release),
        };
        patch.filter(|_| release.patch().is_none())
    }
}
