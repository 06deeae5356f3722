//! Objects whose pods are neither in the object nor in the tree: another tool deploys them, or an operator generates
//! them.

use crate::context::not_judged::{CHECK_CLUSTER, Detail, NotJudged, NotJudgedReason};
use crate::kube::{Object, inference_components};
use crate::yaml::Span;

/// The kinds whose objects deploy files, charts or components that other tools render: those of kapp-controller, Fleet,
/// KubeVela and Open Cluster Management.
const DEPLOYERS: [(&str, &str); 8] = [
    ("kappctrl.k14s.io", "App"),
    ("packaging.carvel.dev", "PackageInstall"),
    ("fleet.cattle.io", "GitRepo"),
    ("fleet.cattle.io", "HelmOp"),
    ("fleet.cattle.io", "Bundle"),
    ("core.oam.dev", "Application"),
    ("core.oam.dev", "Component"),
    ("apps.open-cluster-management.io", "Subscription"),
];

/// The kinds whose operator generates pods from other fields than containers: those of the operators of Spark and
/// Seldon, of Elastic Cloud on Kubernetes and of Strimzi.
const OPERATORS: [(&str, &str); 18] = [
    ("sparkoperator.k8s.io", "SparkApplication"),
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
    ("machinelearning.seldon.io", "SeldonDeployment"),
    ("mlops.seldon.io", "Model"),
    ("elasticsearch.k8s.elastic.co", "Elasticsearch"),
    ("kibana.k8s.elastic.co", "Kibana"),
    ("apm.k8s.elastic.co", "ApmServer"),
    ("beat.k8s.elastic.co", "Beat"),
    ("agent.k8s.elastic.co", "Agent"),
    ("enterprisesearch.k8s.elastic.co", "EnterpriseSearch"),
    ("logstash.k8s.elastic.co", "Logstash"),
    ("maps.k8s.elastic.co", "ElasticMapsServer"),
    ("kafka.strimzi.io", "Kafka"),
    ("kafka.strimzi.io", "KafkaBridge"),
    ("kafka.strimzi.io", "KafkaConnect"),
    ("kafka.strimzi.io", "KafkaMirrorMaker"),
    ("kafka.strimzi.io", "KafkaMirrorMaker2"),
    ("kafka.strimzi.io", "KafkaNodePool"),
];

/// Describes the pods that `object` causes and that are not judged. `has_pods` states whether pods of the object are
/// judged, and `is_named` whether a part of them is named as not judged.
pub(super) fn generated_pods(
    object: &Object<'_>,
    has_pods: bool,
    is_named: bool,
) -> Option<NotJudged> {
    let id = (object.group(), object.kind);
    let title = || format!("{}/{}", object.kind, object.name());
    if DEPLOYERS.contains(&id) {
        let message = format!("{} deploys what another tool renders", title());
        let reason = NotJudgedReason::OtherDeployment;
        return Some(described(object, reason, object.name_span(), message));
    }
    if is_named {
        return None;
    }
    let reason = NotJudgedReason::GeneratedPod;
    if OPERATORS.contains(&id) && !has_pods {
        let message = format!("the operator of {} generates its pods", title());
        return Some(described(object, reason, object.name_span(), message));
    }
    let (component, _) =
        inference_components(object).find(|(_, node)| node.get("containers").is_none())?;
    let message = format!(
        "KServe generates the pods of `spec.{}` of {}",
        component.text().unwrap_or_default(),
        title(),
    );
    Some(described(object, reason, component.span(), message))
}

fn described(
    object: &Object<'_>,
    reason: NotJudgedReason,
    span: Span,
    message: String,
) -> NotJudged {
    NotJudged {
        reason,
        detail: Detail::None,
        place: object.label_at(span, message),
        object: Some(object.reference()),
        help: CHECK_CLUSTER.to_owned(),
    }
}
