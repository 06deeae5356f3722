//! What runs pods and is not judged.

use std::sync::Arc;

use meshprobe_deploy::gitops::deployment;
use meshprobe_deploy::gitops::deployment::MissingFolder;
use meshprobe_deploy::gitops::repositories::{Repositories, SourcePlace};
use meshprobe_mesh::finding::{Label, ObjectRef, sentence_list};
use meshprobe_mesh::kube::{IncompletePod, Object, PodMaker, PodSource, inference_components};
use meshprobe_tree::source::{SourceFile, SourceSet, placeholder};
use meshprobe_yaml::{NodeRef, Span};

/// Why something that runs pods is not judged. The order is that of summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotJudgedReason {
    /// A `HelmRelease` of Flux: its chart is not rendered.
    HelmRelease,
    /// An Application of Argo CD with a chart, which is not rendered.
    ChartApplication,
    /// A `HelmChart` of k3s: its chart is not rendered.
    HelmChart,
    /// Another tool deploys files, charts or components.
    OtherDeployment,
    /// A chart in the repository.
    Chart,
    /// A template outside of a chart.
    Template,
    /// A kustomization whose workloads are not all known.
    Kustomization,
    /// A folder that Flux or Argo CD deploys, and that is not in the tree.
    DeployedFolder,
    /// An OpenShift template.
    OpenShiftTemplate,
    /// An operator adds the part of a pod to a pod that it generates.
    OperatorPod,
    /// An operator generates the pods.
    GeneratedPod,
    /// A pattern of a policy.
    PolicyPattern,
    /// A file or folder below the given paths that cannot be read.
    UnreadableFile,
    /// A workload without a verdict: it is not known whether it is in a mesh.
    MeshUnknown,
    /// A workload without a verdict: another tool fills in a value that decides.
    ValueUnknown,
    /// A workload without a verdict: an `AuthorizationPolicy` depends on the running mesh.
    AuthorizationUnknown,
    /// A workload without a verdict: the running mesh decides.
    RunningMesh,
}

impl NotJudgedReason {
    /// Returns the id for machine-readable reports.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::HelmRelease => "helm-release",
            Self::ChartApplication => "chart-application",
            Self::HelmChart => "helm-chart",
            Self::OtherDeployment => "other-deployment",
            Self::Chart => "chart",
            Self::Template => "template",
            Self::Kustomization => "kustomization",
            Self::DeployedFolder => "deployed-folder",
            Self::OpenShiftTemplate => "openshift-template",
            Self::OperatorPod => "operator-pod",
            Self::GeneratedPod => "generated-pod",
            Self::PolicyPattern => "policy-pattern",
            Self::UnreadableFile => "unreadable-file",
            Self::MeshUnknown => "mesh-unknown",
            Self::ValueUnknown => "value-unknown",
            Self::AuthorizationUnknown => "authorization-unknown",
            Self::RunningMesh => "running-mesh",
        }
    }

    /// Returns the noun for one, to which an `s` is appended for several.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::HelmRelease => "HelmRelease",
            Self::ChartApplication => "chart Application",
            Self::HelmChart => "HelmChart",
            Self::OtherDeployment => "other deployment",
            Self::Chart => "chart",
            Self::Template => "template",
            Self::Kustomization => "kustomization",
            Self::DeployedFolder => "deployed folder",
            Self::OpenShiftTemplate => "OpenShift template",
            Self::OperatorPod => "partial pod",
            Self::GeneratedPod => "generated pod",
            Self::PolicyPattern => "policy pattern",
            Self::UnreadableFile => "unreadable file",
            Self::MeshUnknown
            | Self::ValueUnknown
            | Self::AuthorizationUnknown
            | Self::RunningMesh => "workload",
        }
    }

    /// Returns whether it is a workload without a verdict.
    #[must_use]
    pub const fn is_workload(self) -> bool {
        matches!(
            self,
            Self::MeshUnknown | Self::ValueUnknown | Self::AuthorizationUnknown | Self::RunningMesh
        )
    }
}

/// Something that runs pods and is not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudged {
    /// Why it is not judged.
    pub reason: NotJudgedReason,
    /// The place; its message names what is not judged, and says why.
    pub place: Label,
    /// The object, if it is one.
    pub object: Option<ObjectRef>,
    /// What to do to judge it.
    pub help: String,
    /// What a summary shortens.
    pub detail: Detail,
}

/// What a summary shortens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing is shortened.
    None,
    /// Another tool fills in the path. The entries about such paths are alike.
    PathFilledIn,
    /// The message consists of a start, and of these causes.
    Causes(String, Vec<String>),
}

impl NotJudged {
    /// Describes a whole file.
    #[must_use]
    pub fn of_file(
        reason: NotJudgedReason,
        file: &SourceFile,
        message: String,
        help: &str,
    ) -> Self {
        Self {
            reason,
            detail: Detail::None,
            place: Label {
                path: Arc::clone(&file.path),
                span: Span::empty(0),
                message,
            },
            object: None,
            help: help.to_owned(),
        }
    }
}

/// Describes the folders that an object of Flux or Argo CD deploys and that are not in the tree.
pub(super) fn missing_folders<'t>(
    sources: &SourceSet,
    repositories: &Repositories<'t>,
    object: &Object<'t>,
) -> Vec<NotJudged> {
    let missing = deployment::missing_folders(sources, repositories, object);
    let describe = |missing: &MissingFolder<'_>| {
        let (what, help) = missing_folder(sources, object, missing);
        let detail = match is_filled_in(missing) {
            true => Detail::PathFilledIn,
            false => Detail::None,
        };
        let message = format!("{}/{} deploys {what}", object.kind, object.name());
        NotJudged {
            reason: NotJudgedReason::DeployedFolder,
            detail,
            place: object.label_at(missing.span, message),
            object: Some(object.reference()),
            help,
        }
    };
    missing.iter().map(describe).collect()
}

/// Returns whether another tool fills in the path of a folder of this repository.
fn is_filled_in(missing: &MissingFolder<'_>) -> bool {
    let is_elsewhere = matches!(missing.elsewhere, Some(SourcePlace::Elsewhere { .. }));
    let path = missing.path;
    !is_elsewhere && (placeholder::contains(path) || has_angle_placeholder(path))
}

/// Returns what is deployed and why it is missing, and what to do.
fn missing_folder(
    sources: &SourceSet,
    object: &Object<'_>,
    missing: &MissingFolder<'_>,
) -> (String, String) {
    let path = match missing.path {
        "" => "./",
        path => path,
    };
    match &missing.elsewhere {
        Some(SourcePlace::Elsewhere {
            title,
            url,
            is_certain,
        }) => {
            let help = match url.as_deref() {
                None => "check the repository that contains it",
                Some(url) if url.starts_with("oci://") => {
                    "download it, and check its folder: `meshprobe check --context . FOLDER`"
                }
                Some(_) => {
                    "clone it, and add the clone to the run: `meshprobe check --context CLONE .`"
                }
            };
            let why = match is_certain {
                true => "is another repository",
                false => "is not known to be this repository",
            };
            (format!("`{path}` of {title}, which {why}"), help.to_owned())
        }
        _ if is_filled_in(missing) => {
            let tool = filled_in_by(sources, object);
            (
                format!("`{path}`, which {tool} fills in"),
                "check the folders that it fills in".to_owned(),
            )
        }
        Some(SourcePlace::InRun(root)) => (
            format!("`{path}`, which is not a folder of `{root}`"),
            "correct the path".to_owned(),
        ),
        _ => {
            let tree = sources.tree_noun(object.path());
            (
                format!("`{path}`, which is not a folder of {tree}"),
                "correct the path, or check the repository that contains it".to_owned(),
            )
        }
    }
}

/// Returns what fills in the placeholders of an object: the generators of the ApplicationSet that generates it, which are
/// not evaluated.
fn filled_in_by(sources: &SourceSet, object: &Object<'_>) -> String {
    let document = sources.document(object.path(), object.document.index);
    let objects = document.map(Object::all_in).unwrap_or_default();
    let sets = objects
        .iter()
        .filter(|object| object.kind == "ApplicationSet");
    let generators = sets.filter_map(|set| set.node.get("spec")?.get("generators"));
    let entries = generators
        .flat_map(NodeRef::items)
        .flat_map(NodeRef::entries);
    let names = entries.filter_map(|entry| Some(format!("`{}`", entry.key.text()?)));
    let names: Vec<String> = names.filter(|name| name != "`selector`").collect();
    match names.len() {
        0 => "another tool".to_owned(),
        _ => format!(
            "the generator {} of the ApplicationSet",
            sentence_list(&names)
        ),
    }
}

/// Returns whether a path contains a placeholder such as `<CLUSTER_NAME>`, which a folder is never named.
fn has_angle_placeholder(path: &str) -> bool {
    let inner = path
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'));
    inner.is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'))
}

/// What to do about pods that only the cluster contains.
pub(super) const CHECK_CLUSTER: &str =
    "check the pods of the cluster: `kubectl get pods -A -o yaml | meshprobe check --context . -`";

/// Describes the part of a pod in an object.
pub(super) fn incomplete_pod(
    object: &Object<'_>,
    node: NodeRef<'_>,
    why: IncompletePod,
) -> NotJudged {
    let title = format!("{}/{}", object.kind, object.name());
    let (reason, message, help) = match why {
        IncompletePod::Patch => (
            NotJudgedReason::OperatorPod,
            format!("{title} describes a part of a pod, and its operator generates the rest"),
            CHECK_CLUSTER.to_owned(),
        ),
        IncompletePod::Policy => (
            NotJudgedReason::PolicyPattern,
            format!("{title} contains patterns of pods, which are not manifests"),
            CHECK_CLUSTER.to_owned(),
        ),
        IncompletePod::Template => (
            NotJudgedReason::OpenShiftTemplate,
            format!("{title} is an OpenShift Template that is not rendered"),
            format!(
                "check its output: `oc process --local -f {} | meshprobe check --context . -`",
                object.path()
            ),
        ),
    };
    NotJudged {
        reason,
        detail: Detail::None,
        place: object.label_at(first_key(node), message),
        object: Some(object.reference()),
        help,
    }
}

/// Returns the span of the first key of a mapping, or the start of another node.
fn first_key(node: NodeRef<'_>) -> Span {
    let key = node.entries().next().map(|entry| entry.key.span());
    key.unwrap_or_else(|| Span::empty(node.span().start))
}

/// Describes the pods that `object` causes and that are not judged. `has_pods` states whether pods of the object are
/// judged, and `is_named` whether a part of them is named as not judged.
pub(super) fn generated_pods(
    object: &Object<'_>,
    has_pods: bool,
    is_named: bool,
) -> Option<NotJudged> {
    let maker = PodMaker::of(object.group(), object.kind);
    let title = || format!("{}/{}", object.kind, object.name());
    if maker.is_some_and(|maker| maker.source == PodSource::Deployment) {
        let message = format!("{} deploys what another tool renders", title());
        let reason = NotJudgedReason::OtherDeployment;
        return Some(described(object, reason, object.name_span(), message));
    }
    if is_named {
        return None;
    }
    let reason = NotJudgedReason::GeneratedPod;
    let is_operator = |maker: &&PodMaker| {
        matches!(
            maker.source,
            PodSource::Operator | PodSource::OperatorWithContainers
        )
    };
    if let Some(maker) = maker.filter(is_operator).filter(|_| !has_pods) {
        let metadata = match maker.metadata {
            "" => String::new(),
            field => format!("; `{field}` sets their metadata"),
        };
        let message = format!("the operator of {} generates its pods{metadata}", title());
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
