//! The facts of Istio about the pods of a workload.

use std::cell::OnceCell;

use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::capture::CaptureRules;

use super::install::view::InstallView;
use crate::context::run_context::Context;

/// The facts of Istio about the pods of a workload. Those that many questions depend on are computed once. The module of each
/// subject, such as `mtls` or `ports`, implements its methods.
#[derive(Clone, Debug)]
pub struct PodFacts<'c, 't> {
    /// The facts of the run, or of an alternative.
    pub context: &'c Context<'t>,
    /// The workload.
    pub workload: &'c Workload<'t>,
    pub(super) installation: OnceCell<InstallView<'c>>,
    pub(super) capture: OnceCell<CaptureFacts>,
    pub(super) environments_with_policies: OnceCell<Vec<&'c str>>,
}

impl<'t> Context<'t> {
    /// Returns the facts of Istio about the pods of a workload.
    #[must_use]
    pub const fn pod_facts<'c>(&'c self, workload: &'c Workload<'t>) -> PodFacts<'c, 't> {
        PodFacts {
            context: self,
            workload,
            installation: OnceCell::new(),
            capture: OnceCell::new(),
            environments_with_policies: OnceCell::new(),
        }
    }
}

/// The rules that decide which ports of a pod are captured, and where they are written.
#[derive(Clone, Debug)]
pub(super) struct CaptureFacts {
    pub(super) rules: CaptureRules,
    pub(super) mode: Option<Fact<()>>,
    pub(super) include: Option<Fact<()>>,
    pub(super) exclude: Option<Fact<()>>,
}
