//! Nothing is safe on a pod that was rewritten ahead: its probes, the prober env and the opt-out
//! hold each other up, and no rule sees all of them.

use std::cell::OnceCell;

use hashbrown::HashMap;

use crate::finding::{Applicability, Finding};
use crate::predict::WorkloadPrediction;
use crate::yaml::{Route, Step};

/// The pods by their documents and the routes of their objects in them.
pub(super) struct Guard<'p, 't> {
    pods: HashMap<(&'p str, usize), HashMap<&'p [Step], Pods<'p, 't>>>,
}

/// The pods that one object stands for: one for each overlay.
#[derive(Default)]
struct Pods<'p, 't> {
    all: Vec<&'p WorkloadPrediction<'t>>,
    is_rewritten_ahead: OnceCell<bool>,
}

impl<'p, 't> Guard<'p, 't> {
    /// Sorts the pods.
    pub(super) fn new(predictions: &'p [WorkloadPrediction<'t>]) -> Self {
        let mut pods: HashMap<_, HashMap<_, Pods<'p, 't>>> = HashMap::new();
        for pod in predictions {
            let object = &pod.workload.object;
            let of_document = pods.entry((&**object.path(), object.document.index));
            let of_object = of_document.or_default().entry(object.route.steps());
            of_object.or_default().all.push(pod);
        }
        Self { pods }
    }

    /// Asks for consent where a fix touches a pod that holds a part of a rewrite.
    pub(super) fn apply(&self, finding: &mut Finding) {
        let Some(fix) = &mut finding.fix else {
            return;
        };
        let Some(pods) = self.pods.get(&(&*fix.path, fix.document)) else {
            return;
        };
        let mut routes = fix.changes.iter().map(|change| change.route());
        if fix.applicability == Applicability::Safe
            && routes.any(|route| touches_rewritten(pods, route))
        {
            fix.applicability = Applicability::Unsafe;
        }
    }
}

/// Tells whether a route leads into an object whose pods are rewritten ahead.
fn touches_rewritten(pods: &HashMap<&[Step], Pods<'_, '_>>, route: &Route) -> bool {
    let steps = route.steps();
    let objects = (0..=steps.len()).filter_map(|len| pods.get(steps.get(..len)?));
    objects.into_iter().any(|pods| {
        let all = || pods.all.iter().any(|pod| pod.is_rewritten_ahead());
        *pods.is_rewritten_ahead.get_or_init(all)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::finding::{Fix, Label, Severity};
    use crate::predict;
    use crate::settings::Settings;
    use crate::source::SourceSet;
    use crate::yaml::{Change, Route, Span};

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations: {a: b}\nspec:\n  containers:\n    - name: web\n      image: web:1\n";

    /// The degree of a safe fix that takes the annotations away.
    fn degree(text: &str) -> Applicability {
        let set = SourceSet::from_text("pod.yaml", text);
        let settings = Settings::default();
        let context = Context::new(&set, &[], &settings);
        let label = Label {
            path: "pod.yaml".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let mut finding = Finding::new("r", Severity::Note, label, String::new());
        finding.fix = Some(Fix {
            title: "do it".into(),
            applicability: Applicability::Safe,
            path: "pod.yaml".into(),
            document: 0,
            changes: vec![Change::Remove {
                route: Route::keys(&["metadata", "annotations"]),
            }],
            adds: None,
            edits: Vec::new(),
        });
        Guard::new(&predict::predict_all(&context)).apply(&mut finding);
        finding.fix.unwrap().applicability
    }

    #[test]
    fn a_part_of_a_rewrite_takes_safety_away() {
        assert_eq!(degree(POD), Applicability::Safe);
        let with = |what: &str| degree(&format!("{POD}{what}"));
        let env =
            "    - name: istio-proxy\n      env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{}'}]\n";
        let probe = |path: &str| {
            format!("      readinessProbe: {{httpGet: {{path: {path}, port: 15020}}}}\n")
        };
        assert_eq!(with(env), Applicability::Unsafe);
        assert_eq!(
            with(&probe("/app-health/web/readyz")),
            Applicability::Unsafe
        );
        assert_eq!(with(&probe("/healthz")), Applicability::Safe);
        // Unreadable handlers count: nobody knows better.
        let broken = probe("/app-health/web/livez").replace("15020", "[1]");
        assert_eq!(with(&broken), Applicability::Unsafe);
        let metadata = "'proxyMetadata: {ISTIO_KUBE_APP_PROBERS: \"{}\"}'";
        for config in [metadata, "'not: [yaml ISTIO_KUBE_APP_PROBERS'"] {
            let pod = POD.replace("{a: b}", &format!("{{proxy.istio.io/config: {config}}}"));
            assert_eq!(degree(&pod), Applicability::Unsafe, "{config}");
        }
    }
}
