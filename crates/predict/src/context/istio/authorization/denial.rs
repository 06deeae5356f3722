//! The decision of `AuthorizationPolicy`s about a request, and its reason.

use meshprobe_mesh::kube::Object;
use meshprobe_yaml::NodeRef;

/// The decision of the policies about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// The request is allowed.
    Allowed,
    /// The request is denied.
    Denied,
    /// The decision depends on values that only the running mesh knows.
    Unknown,
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// There are ALLOW policies, and none of their rules matches the request.
    NoAllow,
    /// A rule of a DENY policy matches the request.
    Deny,
    /// A rule has an HTTP field, and the filter chain is TCP: Istio drops an ALLOW rule, and drops the
    /// field of a DENY rule. On an HTTP filter chain the request would be allowed.
    FieldsLost,
}

/// Why no ALLOW rule matches a probe, or why a DENY rule matches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MismatchReason {
    /// The kubelet has no identity in the mesh.
    Identity,
    /// The rules require a JSON Web Token, which the kubelet does not send.
    Token,
    /// These fields of the rules have other values than the request.
    Fields(Vec<String>),
    /// There is no rule that could match.
    NoRule,
    /// The rule holds for all callers.
    AllCallers,
}

/// The policy that denies a request.
#[derive(Clone, Debug)]
pub struct AuthzDenial<'t> {
    /// Why it denies the request.
    pub reason: DenialReason,
    /// The policy that decides.
    pub policy: Object<'t>,
    /// The rule that decides, if one does.
    pub rule: Option<NodeRef<'t>>,
    /// The part of the request that decides.
    pub mismatch: MismatchReason,
}
