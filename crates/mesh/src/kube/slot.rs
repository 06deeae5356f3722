//! Fields of a container that contain a probe or a hook.

use meshprobe_yaml::{Entry, NodeRef};

/// Field of a container that contains a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// `livenessProbe`.
    Liveness,
    /// `readinessProbe`.
    Readiness,
    /// `startupProbe`.
    Startup,
    /// `lifecycle.postStart`.
    PostStart,
    /// `lifecycle.preStop`.
    PreStop,
}

impl Slot {
    /// All slots, in the order in which they are reported.
    pub const ALL: [Self; 5] = [
        Self::Liveness,
        Self::Readiness,
        Self::Startup,
        Self::PostStart,
        Self::PreStop,
    ];

    /// Returns the key of the handler.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Liveness => "livenessProbe",
            Self::Readiness => "readinessProbe",
            Self::Startup => "startupProbe",
            Self::PostStart => "postStart",
            Self::PreStop => "preStop",
        }
    }

    /// Returns the word with which the kubelet starts its event: `Readiness` of `Readiness probe failed`.
    #[must_use]
    pub const fn kubelet_word(self) -> &'static str {
        match self {
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
            Self::Startup => "Startup",
            Self::PostStart => "PostStart",
            Self::PreStop => "PreStop",
        }
    }

    /// Returns whether this is a lifecycle hook, not a probe.
    #[must_use]
    pub const fn is_lifecycle(self) -> bool {
        matches!(self, Self::PostStart | Self::PreStop)
    }

    /// Returns the keys of the handlers that the field can contain. The API server ignores others, or refuses them as
    /// unknown fields.
    #[must_use]
    pub const fn handler_keys(self) -> &'static [&'static str] {
        if self.is_lifecycle() {
            &["httpGet", "tcpSocket", "exec", "sleep"]
        } else {
            &["httpGet", "tcpSocket", "grpc", "exec"]
        }
    }

    /// Returns the entry of the handler in a container, if there is one.
    pub(in crate::kube) fn entry_in(self, container: NodeRef<'_>) -> Option<Entry<'_>> {
        let parent = if self.is_lifecycle() {
            container.get("lifecycle")?
        } else {
            container
        };
        let entry = parent.entry(self.key())?;
        (!entry.value.is_null()).then_some(entry)
    }

    pub(super) const fn route(self) -> &'static [&'static str] {
        match self {
            Self::Liveness => &["livenessProbe"],
            Self::Readiness => &["readinessProbe"],
            Self::Startup => &["startupProbe"],
            Self::PostStart => &["lifecycle", "postStart"],
            Self::PreStop => &["lifecycle", "preStop"],
        }
    }
}
