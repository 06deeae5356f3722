//! Decides which `AuthorizationPolicy` allows or denies a request.

pub(in crate::context) mod applying;
pub(in crate::context) mod decide;
pub(in crate::context) mod denial;
pub(in crate::context) mod http_rules;
pub(in crate::context) mod rules;
pub(in crate::context) mod undecidable;

pub use decide::allowed_selector;
pub use denial::{Authorization, AuthzDenial, DenialReason, MismatchReason};
pub use http_rules::HttpRule;
pub use undecidable::UndecidablePolicy;
