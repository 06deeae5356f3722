//! Command lines that build deployments.

use meshprobe_tree::source::{placeholder, shell_word};

use crate::gitops::deployment::Deployment;
use crate::kustomize::dialect::Dialect;
use crate::kustomize::kustomize_build;

/// Returns the command line that builds the deployment.
pub(crate) fn build(deployment: &Deployment<'_>) -> String {
    let (name, file) = (deployment.object.name(), deployment.object.path());
    if placeholder::contains(name) {
        return kustomize_build(&format!("{}/kustomization.yaml", deployment.folder));
    }
    let (name, file) = (shell_word(name), shell_word(file));
    let folder = match deployment.folder.as_str() {
        "" => ".".to_owned(),
        folder => shell_word(folder),
    };
    if deployment.dialect == Dialect::Argo {
        return format!("argocd app manifests {name} --local {folder}");
    }
    format!("flux build kustomization {name} --path {folder} --kustomization-file {file} --dry-run")
}
