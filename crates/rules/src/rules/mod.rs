//! The rules, which report findings about the predictions. Each file contains the rules about one subject.

mod context;
mod mesh;
pub mod notices;
mod page;
mod rule;
mod runner;
mod support;

/// Declares the files with the rules of a folder, and the list of their rules.
///
/// `cargo fmt` does not follow modules that a macro declares; the gate formats every file by name.
macro_rules! groups {
    ($($group:ident),+ $(,)?) => {
        $(pub(in crate::rules) mod $group;)+

        pub(in crate::rules) const GROUPS: &[&[&$crate::rules::Rule]] = &[$($group::RULES),+];
    };
}
use groups;

groups! {
    ambient,
    ambient_policies,
    authorization,
    exec_probes,
    injection_labels,
    installation,
    legacy_authentication,
    mesh_labels,
    namespaces,
    network_policies,
    peer_authentications,
    pod_annotations,
    port_exceptions,
    pre_rewritten,
    probe_fields,
    probe_ports,
    prober_env,
    refused_pods,
    reinjection,
    rewritten_probes,
    startup,
    status_port,
    templates,
    traffic_capture,
    unrewritten_probes,
    vm,
}

pub use context::{ByNamespace, RuleContext};
pub(crate) use page::page;
pub use page::{
    GENERATED_SECTIONS, map_links, page_body, page_metadata, without_links, written_sections,
};
pub use rule::{Example, FixAvailability, Rule, Scope, Sections};
pub use runner::{Found, all, check, check_marked};
pub use templates::{first_tag, is_about_template, unrendered};
