//! What a rendering records about the deployment that causes it.

use std::sync::Arc;

use meshprobe_mesh::kube::RenderingId;

use crate::gitops::build_command::build;
use crate::gitops::deployment::Deployment;
use crate::kustomize::Deployed;

/// Returns the identity of the rendering of a deployment.
pub(super) fn id(deployment: &Deployment<'_>, root: &Arc<str>) -> RenderingId {
    RenderingId {
        root: Arc::clone(root),
        environment: Arc::clone(&deployment.environment),
        deployed: Some((deployment.folder.as_str().into(), deployment.source)),
    }
}

/// Returns what deploys a rendering.
pub(super) fn deployed(deployment: &Deployment<'_>) -> Deployed {
    Deployed {
        file: Arc::clone(deployment.object.path()),
        home: Arc::clone(deployment.home),
        folder: deployment.folder.clone(),
        build: build(deployment),
        cluster: deployment.cluster.clone(),
        unread: None,
        destination: deployment.destination.as_ref().map(|to| {
            let place = (Arc::clone(&to.path), to.span);
            (to.namespace.to_owned(), place)
        }),
    }
}
