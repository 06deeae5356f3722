//! Files `fleet.yaml` of Fleet that deploy a chart of a repository.
//!
//! Source: Fleet documentation, "fleet.yaml".

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::istio::install::PlainFile;
use meshprobe_predict::context::{Context, Detail, NotJudged, NotJudgedReason};
use meshprobe_yaml::NodeRef;

use super::chart_release::{RENDER, text};

/// Returns the charts that a `fleet.yaml` among the targets deploys and that are not in the tree.
pub(super) fn charts(context: &Context<'_>) -> Vec<NotJudged> {
    let files = context.inventory.plain_files.iter();
    let files = files.filter(|file| file.path.rsplit('/').next() == Some("fleet.yaml"));
    let targets = files.filter(|file| context.sources.is_target(file.path));
    targets.filter_map(chart).collect()
}

fn chart(file: &PlainFile<'_>) -> Option<NotJudged> {
    let helm = file.root.get("helm")?;
    let (chart, repository) = (text(helm, "chart"), text(helm, "repo"));
    let name = chart.or(repository)?;
    let is_remote = repository.is_some() || name.contains("://");
    is_remote.then(|| NotJudged {
        reason: NotJudgedReason::OtherDeployment,
        detail: Detail::None,
        place: Label {
            path: Arc::clone(file.path),
            span: helm.get("chart").map_or_else(|| helm.span(), NodeRef::span),
            message: format!("Fleet deploys the chart `{name}`, which is not in the tree"),
        },
        object: None,
        help: RENDER.to_owned(),
    })
}
