//! Definitions that several messages share.

use crate::mesh::{ReleaseChange, Version};

pub(super) const V12: &ReleaseChange = &ReleaseChange::new(Version::new(1, 12), &[]);
pub(super) const V13: &ReleaseChange = &ReleaseChange::new(Version::new(1, 13), &[]);
pub(super) const V14: &ReleaseChange = &ReleaseChange::new(Version::new(1, 14), &[]);
pub(super) const V17: &ReleaseChange = &ReleaseChange::new(Version::new(1, 17), &[]);
pub(super) const V19: &ReleaseChange = &ReleaseChange::new(Version::new(1, 19), &[]);
pub(super) const V21: &ReleaseChange = &ReleaseChange::new(Version::new(1, 21), &[]);
pub(super) const V22: &ReleaseChange = &ReleaseChange::new(Version::new(1, 22), &[]);
pub(super) const V24: &ReleaseChange = &ReleaseChange::new(Version::new(1, 24), &[]);
pub(super) const V25: &ReleaseChange = &ReleaseChange::new(Version::new(1, 25), &[]);
pub(super) const V28: &ReleaseChange = &ReleaseChange::new(Version::new(1, 28), &[]);
pub(super) const V29: &ReleaseChange = &ReleaseChange::new(Version::new(1, 29), &[]);
pub(super) const V31: &ReleaseChange = &ReleaseChange::new(Version::new(1, 31), &[]);

/// The ways to forward the certificate of a client.
pub(super) const CERTIFICATE_FORWARDING: &[&str] = &[
    "UNDEFINED",
    "SANITIZE",
    "FORWARD_ONLY",
    "APPEND_FORWARD",
    "SANITIZE_SET",
    "ALWAYS_FORWARD_ONLY",
];
