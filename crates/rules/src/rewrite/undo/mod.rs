//! Undoes rewrites: restores the probes that the prober env of the manifest records.
//!
//! The pod contains all information; of the mesh, only its default for rewriting matters. A pod gets all of its changes
//! or none.

pub(super) mod carrier;
pub(super) mod comment;
pub(super) mod handler;
pub(super) mod leaving;
pub(super) mod patch;
pub(super) mod planner;
