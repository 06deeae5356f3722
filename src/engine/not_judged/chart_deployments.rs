//! How the releases of the tree deploy its charts.

use std::cell::OnceCell;

use meshprobe_predict::context::Context;

use super::release::{FoundRelease, chart_releases, rendered};

/// The releases of the tree, which are searched once, when the first is needed.
pub(in crate::engine) struct ChartDeployments<'c, 't> {
    context: &'c Context<'t>,
    releases: OnceCell<Vec<FoundRelease<'c, 't>>>,
}

/// A chart that is not judged with the values of the release that deploys it.
pub(in crate::engine) struct DeployedChart {
    /// What is not judged, and why.
    pub(super) message: String,
    /// What to do to judge it with the values of its release.
    pub(in crate::engine) help: String,
}

impl<'c, 't> ChartDeployments<'c, 't> {
    pub(in crate::engine) const fn new(context: &'c Context<'t>) -> Self {
        Self {
            context,
            releases: OnceCell::new(),
        }
    }

    /// Returns how the chart in `folder` is deployed; `None` if no object of the tree deploys it.
    pub(in crate::engine) fn of(&self, folder: &str) -> Option<DeployedChart> {
        let releases = self.releases.get_or_init(|| chart_releases(self.context));
        let of_chart = || {
            releases
                .iter()
                .filter(|found| found.release.input.is_local && found.release.input.chart == folder)
        };
        let complete = of_chart().find(|found| found.release.is_complete());
        let found = complete.or_else(|| of_chart().next())?;
        let title = format!("{}/{}", found.object.kind, found.object.name());
        if of_chart().any(|found| rendered(self.context, found) == Some(false)) {
            return Some(DeployedChart {
                message: format!("helm cannot render the chart in `{folder}` for {title}"),
                help: "fix the error reported as `not-rendered`".to_owned(),
            });
        }
        Some(DeployedChart {
            message: format!(
                "the chart in `{folder}`, which {title} deploys, is not rendered{}",
                found.release.missing()
            ),
            help: found.release.help(folder),
        })
    }
}
