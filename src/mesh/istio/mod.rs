//! Istio: sidecars of the releases 1.10 to 1.31.

pub mod annotations;
pub mod authz;
pub mod capture;
pub mod injection;
pub mod install;
pub mod keys;
pub mod mtls;
pub mod prober_json;
pub mod protocol;
pub mod proxy_config;
pub mod recorded;
pub mod rewrite;
pub mod vm;
