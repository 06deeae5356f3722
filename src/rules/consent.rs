//! Nothing is safe on a pod that was rewritten ahead: its probes, the prober env and the opt-out
//! hold each other up, and no rule sees all of them.

use crate::finding::{Applicability, Finding};
use crate::predict::WorkloadPrediction;

/// Asks for consent where a fix touches a pod that holds a part of a rewrite.
pub(super) fn guard(predictions: &[WorkloadPrediction<'_>], finding: &mut Finding) {
    let Some(fix) = &mut finding.fix else {
        return;
    };
    let touched = predictions.iter().filter(|pod| {
        let object = &pod.workload.object;
        let here = (&**object.path(), object.document.index) == (&*fix.path, fix.document);
        let within = |route: &[_]| route.starts_with(object.route.steps());
        here && fix
            .changes
            .iter()
            .any(|change| within(change.route().steps()))
    });
    if fix.applicability == Applicability::Safe
        && touched
            .into_iter()
            .any(WorkloadPrediction::is_rewritten_ahead)
    {
        fix.applicability = Applicability::Unsafe;
    }
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
        guard(&predict::predict_all(&context), &mut finding);
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
