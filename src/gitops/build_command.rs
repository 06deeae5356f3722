//! Command lines that build deployments.

use crate::gitops::deployment::Deployment;
use crate::kustomize::dialect::Dialect;

/// Returns the command line that builds the deployment.
pub(crate) fn build(deployment: &Deployment<'_>) -> String {
    let (name, file) = (deployment.object.name(), deployment.object.path());
    let folder = match deployment.folder.as_str() {
        "" => ".",
        folder => folder,
    };
    if deployment.dialect == Dialect::Argo {
        return format!("argocd app manifests {name} --local {folder}");
    }
    format!("flux build kustomization {name} --path {folder} --kustomization-file {file} --dry-run")
}
