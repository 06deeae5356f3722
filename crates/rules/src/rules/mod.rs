//! The rules, which report findings about the predictions. Each rule is a file in the folder of its subject.

mod alternatives;
mod context;
mod group;
mod mesh;
mod page;
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
pub(crate) use page::page;
pub use page::{
    GENERATED_SECTIONS, map_links, page_body, page_metadata, without_links, written_sections,
};
pub use registry::all;
pub use rendering::unrendered_template::{first_tag, is_about_template, unrendered};
pub use rule::{Example, FixAvailability, Rule, Scope, Sections};
pub use runner::{Found, check, check_marked};
