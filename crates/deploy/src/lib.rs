//! What is deployed: kustomizations rendered in process, and the deployments of Flux and Argo CD.
//!
//! An inner crate of `meshprobe`, without a stable API.

pub mod gitops;
pub mod kustomize;
