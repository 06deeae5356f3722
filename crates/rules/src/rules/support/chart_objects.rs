//! Objects of charts that several overlays or clusters deploy: each output of a chart contains them, but users edit one
//! template.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Finding, ObjectRef};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::{SourceSet, chart_of_output};
use meshprobe_yaml::{Position, Span};

/// The place of a text, which is the same in all outputs of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::rules) enum SourcePlace {
    /// The path of a file, and a part of it.
    File(Arc<str>, Span),
    /// The path of a template, the start and the end of the part, and the object that it renders.
    Template(Arc<str>, (Position, Position), Option<ObjectRef>),
}

impl SourcePlace {
    /// Returns the place of a part of a file. `object` is the object that contains it.
    pub(in crate::rules) fn of(
        set: &SourceSet,
        path: &Arc<str>,
        span: Span,
        object: Option<&ObjectRef>,
    ) -> Self {
        let source = chart_of_output(path).and_then(|_| set.source_of(path, span));
        match source.and_then(|source| Some((source.path, source.place?))) {
            Some((template, place)) => Self::Template(template, place, object.cloned()),
            None => Self::File(Arc::clone(path), span),
        }
    }
}

/// The overlays and clusters that deploy each object of a chart.
#[derive(Debug, Default)]
pub(in crate::rules) struct ChartObjects<'p>(HashMap<(&'p str, ObjectRef), HashSet<&'p Arc<str>>>);

impl<'p> ChartObjects<'p> {
    /// Collects the workloads of the charts of a run.
    pub(in crate::rules) fn of(predictions: &'p [WorkloadPrediction<'_>]) -> Self {
        let mut objects = Self::default();
        for pod in predictions {
            let object = &pod.workload.object;
            if let (Some(folder), Some(overlay)) =
                (chart_of_output(&object.document.path), &object.overlay)
            {
                let key = (folder, object.reference());
                objects.0.entry(key).or_default().insert(overlay);
            }
        }
        objects
    }

    /// Returns whether several overlays or clusters deploy the object of a finding.
    pub(in crate::rules) fn has_several(&self, finding: &Finding) -> bool {
        let folder = chart_of_output(&finding.primary.path);
        folder
            .zip(finding.object.clone())
            .and_then(|key| self.0.get(&key))
            .is_some_and(|overlays| overlays.len() > 1)
    }
}
