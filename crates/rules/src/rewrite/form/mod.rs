//! The forms of a rewrite: what carries the prober env, and whether the rewrite also opts out of the webhook's rewrite.

pub(super) mod annotation;
pub(super) mod choice;
pub(super) mod container;
pub(super) mod container_only;
pub(super) mod partial_container;
pub(super) mod rewrite_form;
