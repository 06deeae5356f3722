//! Decides which facts hold for which workload.
//!
//! [`Context`] contains the facts of a run. Facets in front of it answer questions about one subject:
//! `context.istio(workload).mtls(port)`, `context.services(workload).protocol(port)`. Each facet is in the file
//! of its subject.
//!
//! All files of a run are one scope. Where several facts compete, the one whose file is nearest to
//! the workload's file takes precedence.

mod assumptions;
mod dataplane;
mod deployed_objects;
mod environment_filter;
mod environment_name;
mod environments;
mod fact_cache;
mod generated_pods;
mod installed_release;
mod inventory;
mod istio;
mod label_command;
mod label_index;
mod mesh;
mod mesh_claims;
mod mesh_objects;
mod mesh_options;
mod namespace;
mod namespace_index;
mod namespace_manifests;
mod namespace_scripts;
mod nearest;
mod network_plugin;
mod network_policies;
mod not_judged;
mod object_namespace;
mod origin;
mod overlay_names;
mod parent_folder;
mod pod_security;
mod pull_in;
mod replaced_facts;
mod replaced_workloads;
mod reported;
mod run_context;
mod service_selector;
mod services;
mod shared_documents;
mod shell_commands;
mod subject;
mod unmodelled_changes;
mod unrendered;
mod user_facts;
mod written_objects;

pub use dataplane::Dataplane;
pub use fact_cache::NamespaceKey;
pub use inventory::Inventory;
pub use istio::authorization::{
    Authorization, AuthzDenial, DenialReason, HttpRule, MismatchReason, UndecidablePolicy,
    allowed_selector,
};
pub use istio::conflicting_policies::ConflictingPolicies;
pub use istio::facets::{
    AuthorizationFacts, ControlPlanes, Injection, Istio, IstioNear, IstioPolicy,
    PeerAuthentications, Ports, Rewriting, Startup,
};
pub use istio::inbound_patch::inbound_patch;
pub use istio::injection::{AssumedNamespace, placement};
pub use istio::install::{Conflict, InstallView};
pub use istio::policy_scope::PolicyScope;
pub use istio::rewriting::{
    ProberEnv, ProberEnvPlace, UnreadableProberEnv, proxy_config, proxy_container,
    written_prober_env,
};
pub use istio::virtual_machines::VirtualMachines;
pub(crate) use mesh::OtherMeshPod;
pub use mesh::WorkloadMesh;
pub use mesh_claims::MeshClaim;
pub use namespace::NamespaceOf;
pub use namespace_index::NamespaceIndex;
pub use network_plugin::facet::{ClusterNetwork, reported_by_users};
pub use network_policies::admitted_ports::AdmittedPorts;
pub use network_policies::facet::NetworkPolicies;
pub use network_policies::ingress_rule::{IngressRule, Source, named_ports};
pub use network_policies::isolating::IsolatingPolicies;
pub use not_judged::{CAUSE_SEPARATOR, Detail, NotJudged, NotJudgedReason};
pub use origin::Origin;
pub use replaced_facts::is_replaceable;
pub use replaced_workloads::is_interchangeable;
pub use run_context::Context;
pub use services::{SETTLE as SERVICES_SETTLE, Services};
pub use unrendered::{UncheckedPolicy, Unrendered, Uses};
pub use user_facts::UserFacts;
