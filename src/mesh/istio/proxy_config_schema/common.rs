//! Definitions that several messages share.

use crate::mesh::{ReleaseChange, Version};

pub(in crate::mesh::istio) const V11: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 11), &[]);
pub(in crate::mesh::istio) const V12: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 12), &[]);
pub(in crate::mesh::istio) const V13: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 13), &[]);
pub(in crate::mesh::istio) const V14: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 14), &[]);
pub(in crate::mesh::istio) const V17: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 17), &[]);
pub(in crate::mesh::istio) const V18: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 18), &[]);
pub(in crate::mesh::istio) const V19: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 19), &[]);
pub(in crate::mesh::istio) const V21: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 21), &[]);
pub(in crate::mesh::istio) const V22: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 22), &[]);
pub(in crate::mesh::istio) const V24: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 24), &[]);
pub(in crate::mesh::istio) const V25: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 25), &[]);
pub(in crate::mesh::istio) const V26: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 26), &[]);
pub(in crate::mesh::istio) const V27: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 27), &[]);
pub(in crate::mesh::istio) const V28: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 28), &[]);
pub(in crate::mesh::istio) const V29: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 29), &[]);
pub(in crate::mesh::istio) const V30: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 30), &[]);
pub(in crate::mesh::istio) const V31: &ReleaseChange =
    &ReleaseChange::new(Version::new(1, 31), &[]);

/// The ways to forward the certificate of a client.
pub(super) const CERTIFICATE_FORWARDING: &[&str] = &[
    "UNDEFINED",
    "SANITIZE",
    "FORWARD_ONLY",
    "APPEND_FORWARD",
    "SANITIZE_SET",
    "ALWAYS_FORWARD_ONLY",
];
