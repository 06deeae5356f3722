//! The rules that decide which ports of a pod are captured.

use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::capture::CaptureRules;

/// The rules that decide which ports of a pod are captured, and where they are written.
#[derive(Debug)]
pub(in crate::context) struct CaptureFacts {
    pub(in crate::context) rules: CaptureRules,
    pub(in crate::context) mode: Option<Fact<()>>,
    pub(in crate::context) include: Option<Fact<()>>,
    pub(in crate::context) exclude: Option<Fact<()>>,
}
