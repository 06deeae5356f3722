//! Guards: reasons not to rewrite a pod. Their names are public ids.

pub(super) mod checks;
pub(super) mod env;
pub(super) mod failure;
pub(super) mod handlers;
pub(super) mod injection;
pub(super) mod injection_unproven;
pub(super) mod ports;
pub(super) mod template;

pub(super) use checks::{ambiguous, document, refusals, release};
pub(super) use env::{fatal_entry, missing_entry, unreadable_env};
pub(super) use injection_unproven::injection_unproven;
