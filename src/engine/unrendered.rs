//! Reports objects that kustomizations name and do not deploy.

use meshprobe_deploy::kustomize::kustomize_build;
use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_predict::context::{Context, Dataplane, UncheckedPolicy, Unrendered};
use meshprobe_predict::predict::WorkloadPrediction;

use meshprobe_rules::rules::notices::POLICY_LEFT_OUT;

/// Returns a finding for each policy that is not taken into account because of a kustomization.
pub(super) fn policies_left_out(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Vec<Finding> {
    let is_ambient = |pod: &WorkloadPrediction<'_>| pod.dataplane.value == Dataplane::Ambient;
    let has_ambient = predictions.iter().any(is_ambient);
    let policies = context.inventory.unchecked.iter();
    policies
        .filter(|policy| has_ambient || !policy.is_network_policy)
        .map(policy_left_out)
        .collect()
}

fn policy_left_out(policy: &UncheckedPolicy) -> Finding {
    let kustomization = policy.kustomization.as_ref();
    let subject =
        kustomization.map_or_else(|| "a kustomization".into(), |path| format!("`{path}`"));
    let title = &policy.title;
    let (reason, help) = match policy.why {
        Unrendered::Patch => (
            "uses its file as a patch, and the object that it changes is not among the files"
                .to_owned(),
            format!(
                "check the output of the build: `{} | meshprobe check --context . -`",
                kustomize_build(kustomization.map_or("", |path| path))
            ),
        ),
        Unrendered::Dropped => {
            let path = kustomization.map_or("KUSTOMIZATION", |path| path);
            let help = format!("if it is deployed in another way, add `--exclude {path}`");
            ("lists it and does not deploy it".to_owned(), help)
        }
    };
    let message = format!("{title} is not taken into account: {subject} {reason}");
    // A kustomization only decides about the workloads that it renders.
    let severity = match policy.why {
        Unrendered::Dropped if policy.concerns_others => Severity::Warning,
        Unrendered::Dropped | Unrendered::Patch => Severity::Note,
    };
    let mut finding = Finding::new(POLICY_LEFT_OUT, severity, policy.place.clone(), message);
    finding.document = policy.document;
    finding.help = Some(help);
    finding
}

/// Explains why a finding is about an object that a kustomization seems to use in another way.
pub(super) fn explain_unrendered(context: &Context<'_>, finding: &mut Finding) {
    let found = context
        .inventory
        .unrendered(&finding.primary.path, finding.document);
    let Some(why) = found.filter(|_| finding.overlays.is_empty()) else {
        return;
    };
    let reason = match why {
        Unrendered::Patch => {
            "a kustomization names this file as a patch, but no object that is rendered contains it: it is \
             checked as a manifest"
        }
        Unrendered::Dropped => {
            "no kustomization that lists this object deploys it: it is checked as it is written"
        }
    };
    finding.help = Some(match finding.help.take() {
        Some(help) => format!("{help} ({reason})"),
        None => reason.to_owned(),
    });
}
