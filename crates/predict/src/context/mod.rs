//! Decides which facts hold for which workload.
//!
//! [`Context`] contains the facts of a run, [`PodFacts`] those of Istio about the pods of a workload, such as
//! `facts.mtls(port)`. Their methods are in the files of their subjects.
//!
//! All files of a run are one scope. Where several facts compete, the one whose file is nearest to
//! the workload's file takes precedence.

mod deployed_objects;
mod environment_filter;
mod environment_name;
mod environments;
mod fact_cache;
mod installed_release;
mod inventory;
mod istio;
mod label_command;
mod mesh;
mod mesh_claims;
mod namespace;
mod namespace_index;
mod namespace_manifests;
mod namespace_scripts;
mod nearest;
mod network_plugin;
mod network_policies;
mod not_judged;
mod pull_in;
mod run_context;
mod services;
mod shared_documents;
mod shell_commands;
mod subject;
mod unrendered;
mod user_facts;

pub use inventory::{Inventory, inbound_patch};
pub use istio::authorization::{
    Authorization, AuthzDenial, DenialReason, HttpRule, MismatchReason, UndecidablePolicy,
    allowed_selector,
};
pub use istio::injection::{AssumedNamespace, placement};
pub use istio::install::serving::IstioNear;
pub use istio::install::{Conflict, InstallView, REWRITE_SETTLE};
pub use istio::pod_facts::PodFacts;
pub use istio::policy_scope::IstioPolicy;
pub use istio::policy_scope::{ConflictingPolicies, PolicyScope};
pub use istio::rewriting::{
    ProberEnv, ProberEnvPlace, UnreadableProberEnv, proxy_config, proxy_container,
    written_prober_env,
};
pub use istio::virtual_machines::VirtualMachines;
pub(crate) use mesh::OtherMeshPod;
pub use mesh::{Dataplane, WorkloadMesh};
pub use mesh_claims::MeshClaim;
pub use namespace::NamespaceOf;
pub use namespace_index::NamespaceIndex;
pub use network_plugin::{ClusterNetwork, reported_by_users};
pub use network_policies::{IngressRule, IsolatingPolicies, NetworkPolicies, Source, named_ports};
pub use not_judged::{Detail, NotJudged, NotJudgedReason};
pub use run_context::{Context, Origin};
pub use services::{SETTLE as SERVICES_SETTLE, Services};
pub use unrendered::{UncheckedPolicy, Unrendered, Uses};
pub use user_facts::UserFacts;
