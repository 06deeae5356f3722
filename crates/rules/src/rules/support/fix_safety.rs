//! Demotes safe fixes of pre-rewritten pods to unsafe: the probes, the prober env and the opt-out of such a
//! pod depend on each other, and no rule checks all of them.

use std::cell::OnceCell;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Placement;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{FieldPath, Step};

/// Why a change of a pre-rewritten pod is not safe.
pub(in crate::rules) const PRE_REWRITTEN: &str = "the pod is pre-rewritten: its probes, `ISTIO_KUBE_APP_PROBERS` and \
     the opt-out depend on each other";

/// Returns the applicability of a change of a pre-rewritten pod that would be safe for other pods.
pub(in crate::rules) fn pre_rewritten() -> Applicability {
    Applicability::unsafe_because(PRE_REWRITTEN)
}

/// The pods by document, and in a document by the route of their object.
pub(in crate::rules) struct Guard<'p, 't> {
    pods: HashMap<(&'p str, usize), HashMap<&'p [Step], Pods<'p, 't>>>,
}

/// The pods that one object defines: one for each overlay.
#[derive(Default)]
struct Pods<'p, 't> {
    all: Vec<&'p WorkloadPrediction<'t>>,
    is_prerewritten: OnceCell<bool>,
}

impl<'p, 't> Guard<'p, 't> {
    /// Groups the pods by document and object.
    pub(in crate::rules) fn new(predictions: &'p [WorkloadPrediction<'t>]) -> Self {
        let mut pods: HashMap<_, HashMap<_, Pods<'p, 't>>> = HashMap::new();
        for pod in predictions {
            let object = &pod.workload.object;
            let of_document = pods.entry((&**object.path(), object.document.index));
            let of_object = of_document.or_default().entry(object.route.steps());
            of_object.or_default().all.push(pod);
        }
        Self { pods }
    }

    /// Demotes a safe fix to unsafe if it changes a pre-rewritten pod, and any fix to display-only if it changes an object
    /// of an operator. Removes a fix of a pod spec without metadata, to which fixes would add metadata.
    pub(in crate::rules) fn apply(&self, finding: &mut Finding) {
        let Some(fix) = &mut finding.fix else {
            return;
        };
        let Some(pods) = self.pods.get(&(&*fix.path, fix.document)) else {
            return;
        };
        if let Some(placement) = assumed_placement(pods, fix) {
            fix.limit_to(Applicability::display_only_because(
                "it is assumed that an operator creates pods from this part of the object",
            ));
            if placement == Placement::EmbeddedSpec {
                finding.fix = None;
            }
            return;
        }
        let mut routes = fix.changes.iter().map(|change| change.route());
        if fix.applicability.is_safe() && routes.any(|route| touches_pre_rewritten(pods, route)) {
            fix.limit_to(pre_rewritten());
        }
    }
}

/// Returns the least certain placement of the pods of an object that a fix changes, if it is assumed.
fn assumed_placement(pods: &HashMap<&[Step], Pods<'_, '_>>, fix: &Fix) -> Option<Placement> {
    let routes = fix.changes.iter().map(|change| change.route().steps());
    routes
        .flat_map(|steps| (0..=steps.len()).filter_map(move |len| pods.get(steps.get(..len)?)))
        .flat_map(|pods| &pods.all)
        .map(|pod| pod.workload.template.placement)
        .max()
        .filter(|placement| placement.is_assumed())
}

/// Returns whether a route leads into an object one of whose pods is pre-rewritten.
fn touches_pre_rewritten(pods: &HashMap<&[Step], Pods<'_, '_>>, route: &FieldPath) -> bool {
    let steps = route.steps();
    (0..=steps.len())
        .filter_map(|len| pods.get(steps.get(..len)?))
        .any(|pods| {
            let is_prerewritten = || pods.all.iter().any(|pod| pod.is_prerewritten());
            *pods.is_prerewritten.get_or_init(is_prerewritten)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshprobe_mesh::finding::{Label, Severity, rule_id};
    use meshprobe_mesh::settings::Settings;
    use meshprobe_predict::context::Context;
    use meshprobe_predict::predict;
    use meshprobe_tree::source::SourceSet;
    use meshprobe_yaml::{Change, FieldPath, Span};

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations: {a: b}\nspec:\n  containers:\n    - name: web\n      image: web:1\n";

    /// Returns the applicability of a safe fix that removes the annotations, after the guard.
    fn applicability(text: &str) -> Applicability {
        let set = SourceSet::from_text("pod.yaml", text);
        let settings = Settings::default();
        let context = Context::new(&set, &[], &settings);
        let label = Label {
            path: "pod.yaml".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let mut finding = Finding::new(rule_id!("r"), Severity::Note, label, String::new());
        finding.fix = Some(Fix {
            title: "do it".into(),
            applicability: Applicability::Safe,
            path: "pod.yaml".into(),
            document: 0,
            changes: vec![Change::remove(FieldPath::keys(&[
                "metadata",
                "annotations",
            ]))],
            edits: Vec::new(),
        });
        Guard::new(&predict::predict_all(&context)).apply(&mut finding);
        finding.fix.unwrap().applicability
    }

    #[test]
    fn a_safe_fix_of_a_pre_rewritten_pod_becomes_unsafe() {
        assert_eq!(applicability(POD), Applicability::Safe);
        let with = |suffix: &str| applicability(&format!("{POD}{suffix}"));
        let env =
            "    - name: istio-proxy\n      env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{}'}]\n";
        let probe = |path: &str| {
            format!("      readinessProbe: {{httpGet: {{path: {path}, port: 15020}}}}\n")
        };
        assert_eq!(with(env), pre_rewritten());
        assert_eq!(with(&probe("/app-health/web/readyz")), pre_rewritten());
        assert_eq!(with(&probe("/healthz")), Applicability::Safe);
        // Unreadable handlers also count, because they may be part of a rewrite.
        let broken = probe("/app-health/web/livez").replace("15020", "[1]");
        assert_eq!(with(&broken), pre_rewritten());
        let metadata = "'proxyMetadata: {ISTIO_KUBE_APP_PROBERS: \"{}\"}'";
        for config in [metadata, "'not: [yaml ISTIO_KUBE_APP_PROBERS'"] {
            let pod = POD.replace("{a: b}", &format!("{{proxy.istio.io/config: {config}}}"));
            assert_eq!(applicability(&pod), pre_rewritten(), "{config}");
        }
    }
}
