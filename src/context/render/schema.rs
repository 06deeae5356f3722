//! Which lists a strategic merge patch merges, and by which keys.
//!
//! Source: the OpenAPI document of Kubernetes 1.21.2 that kustomize 5.8.2 carries
//! (`kyaml/openapi/kubernetesapi/v1_21_2`), `x-kubernetes-patch-strategy` and its keys. Kinds and
//! versions that it does not hold have no such lists: theirs are replaced.

/// A type of the API, as far as lists to merge lie in or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Nothing below it is merged.
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
    /// A container of any list.
    Container,
}

/// What the `spec` of an object holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spec {
    /// A pod template under `template`.
    Workload,
    /// A job under `jobTemplate`.
    CronJob,
    /// A pod.
    Pod,
    /// `PodTemplate` has its template beside `metadata`.
    PodTemplate,
    /// A Service.
    Service,
    /// Nothing of its own.
    Plain,
    /// No `spec`: a list `webhooks`.
    Webhooks,
    /// No `spec`: a list `secrets`.
    ServiceAccount,
}

impl Type {
    /// Returns the type of an object.
    pub(super) fn of(api_version: &str, kind: &str) -> Self {
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
    pub(super) fn field(self, key: &str) -> Self {
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

    /// Returns the keys by which the list `key` is merged: none of them for lists of single
    /// values, `None` for lists that are replaced.
    pub(super) fn merge_keys(self, key: &str) -> Option<&'static [&'static str]> {
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

/// Kinds of the API that have no namespace; all others are taken to have one.
/// Source: kustomize 5.8.2, `kyaml/openapi/openapi.go`, `precomputedIsNamespaceScoped`.
pub(super) fn is_cluster_scoped(api_version: &str, kind: &str) -> bool {
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
