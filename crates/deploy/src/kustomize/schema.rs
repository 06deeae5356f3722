//! Lists that a strategic merge patch merges, with their merge keys.
//!
//! Source: the OpenAPI document of Kubernetes 1.21.2 that kustomize 5.8.2 includes
//! (`kyaml/openapi/kubernetesapi/v1_21_2`), `x-kubernetes-patch-strategy` and its keys. Lists of kinds and
//! versions that it does not contain are replaced.

/// Type of the API that contains merged lists, directly or in its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A type without merged lists.
    Other,
    /// An object with this type at `spec`.
    Object(Spec),
    /// `metadata`.
    Meta,
    /// The `spec` of an object.
    Spec(Spec),
    /// A pod template.
    Template,
    /// A pod spec.
    PodSpec,
    /// A container of a pod, in any of its lists.
    Container,
}

/// Content of the `spec` of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spec {
    /// A pod template under `template`.
    Workload,
    /// A job under `jobTemplate`.
    CronJob,
    /// A pod.
    Pod,
    /// No `spec`: `PodTemplate` has its template next to `metadata`.
    PodTemplate,
    /// A Service.
    Service,
    /// No merged lists.
    Plain,
    /// No `spec`: a list `webhooks`.
    Webhooks,
    /// No `spec`: a list `secrets`.
    ServiceAccount,
}

impl Type {
    /// Returns the type of an object.
    pub(crate) fn of(api_version: &str, kind: &str) -> Self {
        let spec = match (api_version, kind) {
            ("apps/v1", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
            | ("batch/v1", "Job")
            | ("v1", "ReplicationController") => Spec::Workload,
            ("batch/v1" | "batch/v1beta1", "CronJob") => Spec::CronJob,
            ("v1", "Pod") => Spec::Pod,
            ("v1", "PodTemplate") => Spec::PodTemplate,
            ("v1", "Service") => Spec::Service,
            ("v1", "Namespace") => Spec::Plain,
            ("v1", "ServiceAccount") => Spec::ServiceAccount,
            (
                "admissionregistration.k8s.io/v1" | "admissionregistration.k8s.io/v1beta1",
                "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
            ) => Spec::Webhooks,
            _ => return Self::Other,
        };
        Self::Object(spec)
    }

    /// Returns the type of a field; of a list, the type of its items.
    pub(crate) fn field(self, key: &str) -> Self {
        match (self, key) {
            (Self::Object(_) | Self::Template, "metadata") => Self::Meta,
            (Self::Object(Spec::Pod) | Self::Template, "spec") => Self::PodSpec,
            (Self::Object(Spec::PodTemplate), "template")
            | (Self::Spec(Spec::Workload), "template") => Self::Template,
            (Self::Object(spec), "spec") => Self::Spec(spec),
            // A JobTemplateSpec is metadata and a JobSpec.
            (Self::Spec(Spec::CronJob), "jobTemplate") => Self::Object(Spec::Workload),
            (Self::PodSpec, "containers" | "initContainers" | "ephemeralContainers") => {
                Self::Container
            }
            _ => Self::Other,
        }
    }

    /// Returns the keys by which the list `key` is merged: an empty list for lists of scalars, `None` for lists
    /// that are replaced.
    pub(crate) fn merge_keys(self, key: &str) -> Option<&'static [&'static str]> {
        Some(match (self, key) {
            (
                Self::PodSpec,
                "containers"
                | "initContainers"
                | "ephemeralContainers"
                | "imagePullSecrets"
                | "volumes",
            )
            | (Self::Container, "env")
            | (Self::Object(Spec::Webhooks), "webhooks")
            | (Self::Object(Spec::ServiceAccount), "secrets") => &["name"],
            (Self::PodSpec, "hostAliases") => &["ip"],
            (Self::PodSpec, "topologySpreadConstraints") => &["topologyKey", "whenUnsatisfiable"],
            (Self::Container, "ports") => &["containerPort", "protocol"],
            (Self::Container, "volumeMounts") => &["mountPath"],
            (Self::Container, "volumeDevices") => &["devicePath"],
            (Self::Spec(Spec::Service), "ports") => &["port", "protocol"],
            (Self::Meta, "ownerReferences") => &["uid"],
            (Self::Meta, "finalizers") => &[],
            _ => return None,
        })
    }
}

/// Returns whether objects of a kind have no namespace. Unknown kinds are assumed to have one.
/// Source: kustomize 5.8.2, `kyaml/openapi/openapi.go`, `precomputedIsNamespaceScoped`.
pub(crate) fn is_cluster_scoped(api_version: &str, kind: &str) -> bool {
    match api_version {
        "v1" => matches!(
            kind,
            "ComponentStatus" | "Namespace" | "Node" | "NodeProxyOptions" | "PersistentVolume"
        ),
        "admissionregistration.k8s.io/v1" => matches!(
            kind,
            "MutatingWebhookConfiguration"
                | "ValidatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
        ),
        "admissionregistration.k8s.io/v1beta1" => matches!(
            kind,
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"
        ),
        "apiextensions.k8s.io/v1" | "apiextensions.k8s.io/v1beta1" => {
            kind == "CustomResourceDefinition"
        }
        "apiregistration.k8s.io/v1" | "apiregistration.k8s.io/v1beta1" => kind == "APIService",
        "certificates.k8s.io/v1" | "certificates.k8s.io/v1beta1" => {
            kind == "CertificateSigningRequest"
        }
        "flowcontrol.apiserver.k8s.io/v1beta1" => {
            matches!(kind, "FlowSchema" | "PriorityLevelConfiguration")
        }
        "networking.k8s.io/v1" | "networking.k8s.io/v1beta1" => kind == "IngressClass",
        "node.k8s.io/v1" | "node.k8s.io/v1beta1" => kind == "RuntimeClass",
        "policy/v1beta1" => kind == "PodSecurityPolicy",
        "rbac.authorization.k8s.io/v1" | "rbac.authorization.k8s.io/v1beta1" => {
            matches!(kind, "ClusterRole" | "ClusterRoleBinding")
        }
        "scheduling.k8s.io/v1" | "scheduling.k8s.io/v1beta1" => kind == "PriorityClass",
        "storage.k8s.io/v1" | "storage.k8s.io/v1beta1" => matches!(
            kind,
            "CSIDriver" | "CSINode" | "StorageClass" | "VolumeAttachment"
        ),
        _ => false,
    }
}
