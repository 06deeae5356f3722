//! Data that git stores next to a working tree, read without running git.

pub(super) mod folders;
pub(super) mod remotes;
