//! Decides which facts hold for which workload.
//!
//! All files of a run are one scope. Where several facts compete, the one whose file is nearest to
//! the workload's file takes precedence.

mod applying_policies;
mod assumptions;
mod audience;
mod authorization;
mod authz_cache;
mod authz_denial;
mod authz_rules;
mod capture_facts;
mod conflicting_policies;
mod dataplane;
mod deployed_objects;
mod environments;
mod envoy_filter;
mod fact_cache;
mod inbound_patch;
mod install;
mod inventory;
mod istio;
mod label_index;
mod mesh;
mod namespace;
mod namespace_index;
mod nearest;
mod nearest_policies;
mod network_policies;
mod not_judged;
mod object_namespace;
mod order;
mod origin;
mod pod;
mod policy;
mod policy_scope;
mod port_index;
mod run_context;
mod service_selector;
mod services;
mod subject;
mod traffic_capture;
mod undecidable_policy;
mod unmodelled_changes;
mod unrendered;
mod user_facts;
mod virtual_machines;

pub use crate::context::authz_denial::{Authorization, AuthzDenial, DenialReason, MismatchReason};
pub use crate::context::conflicting_policies::ConflictingPolicies;
pub use crate::context::inbound_patch::inbound_patch;
pub use crate::context::namespace_index::NamespaceIndex;
pub use crate::context::policy_scope::PolicyScope;
pub use crate::context::undecidable_policy::UndecidablePolicy;
pub use crate::context::unrendered::Uses;
pub use crate::context::user_facts::UserFacts;
pub use authorization::allowed_selector;
pub use dataplane::{AssumedNamespace, Dataplane, placement};
pub use fact_cache::NamespaceKey;
pub use install::{Conflict, InstallView};
pub use inventory::Inventory;
pub use istio::{
    AuthorizationFacts, ControlPlanes, Injection, Istio, IstioNear, IstioPolicy,
    PeerAuthentications, Ports, Rewriting, Startup,
};
pub(crate) use label_index::LabelIndex;
pub(crate) use mesh::OtherMeshPod;
pub use mesh::WorkloadMesh;
pub use namespace::NamespaceOf;
pub use network_policies::{IngressRule, NetworkPolicies, Source, isolates};
pub use not_judged::{NotJudged, NotJudgedReason};
pub use origin::Origin;
pub use pod::{
    ProberEnv, ProberEnvPlace, UnreadableProberEnv, proxy_config, proxy_container,
    written_prober_env,
};
pub use run_context::Context;
pub use services::{SETTLE as SERVICES_SETTLE, Services};
pub use unrendered::{UncheckedPolicy, Unrendered};
pub use virtual_machines::VirtualMachines;
