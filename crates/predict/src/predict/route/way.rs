//! Builds the hops of a way.

use super::hop::{Hop, HopKind, HopState};

/// The hops so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Way(Vec<Hop>);

impl Way {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a hop that the request passes.
    pub(super) fn pass(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Passed)
    }

    /// Adds a hop that the request does not pass through.
    pub(super) fn bypass(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Bypassed)
    }

    /// Adds the hop at which the request goes wrong.
    pub(super) fn fail(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Fault)
    }

    /// Adds a hop whose effect is not known. The way ends there.
    pub(super) fn stop(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Unknown)
    }

    /// Adds a hop that the request does not reach.
    pub(super) fn miss(self, kind: HopKind) -> Self {
        self.add(kind, HopState::NotReached)
    }

    /// Sets the detail of the last hop.
    pub(super) fn detail(mut self, detail: Option<String>) -> Self {
        if let (Some(hop), Some(detail)) = (self.0.last_mut(), detail) {
            hop.detail = detail;
        }
        self
    }

    /// Returns whether the request went wrong.
    pub(super) fn is_interrupted(&self) -> bool {
        self.0.iter().any(|hop| hop.state == HopState::Fault)
    }

    pub(super) fn hops(self) -> Vec<Hop> {
        self.0
    }

    fn add(mut self, kind: HopKind, state: HopState) -> Self {
        self.0.push(Hop {
            kind,
            state,
            detail: String::new(),
        });
        self
    }
}
