//! The rules, which report findings about the predictions. Each rule is a file in the folder of its subject.

mod alternatives;
mod context;
mod group;
mod mesh;
mod registry;
mod rule;
mod runner;
mod support;

group::groups! {
    ambient,
    authorization,
    injection,
    installation,
    network_policy,
    peer_authentication,
    pre_rewritten,
    probe,
    probe_rewriting,
    rendering,
    startup,
    status_port,
    traffic_capture,
    vm,
}

pub use context::{ByNamespace, RuleContext};
pub use registry::all;
pub use rendering::unrendered_template::{first_tag, is_about_template, unrendered};
pub(crate) use rule::page;
pub use rule::{Example, FixAvailability, Rule, Scope, Sections, page_body};
pub use runner::{Found, check, check_marked};
