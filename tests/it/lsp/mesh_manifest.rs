//! Manifests that state facts, and edits of them that keep their identity.

use super::random_edits::Random;

/// The kinds, with the name and the namespace of the object.
const KINDS: [(&str, &str, &str); 10] = [
    ("Namespace", "shop", ""),
    ("Service", "web", "shop"),
    ("PeerAuthentication", "default", "shop"),
    ("PeerAuthentication", "mesh", "istio-system"),
    ("AuthorizationPolicy", "deny", "shop"),
    ("NetworkPolicy", "isolated", "shop"),
    ("Sidecar", "default", "shop"),
    ("Role", "web", "shop"),
    ("ConfigMap", "web", "shop"),
    ("CustomResourceDefinition", "things.example.com", ""),
];

/// The number of kinds whose objects are replaced, at the start of [`KINDS`].
const REPLACED: usize = 8;

/// A manifest that is edited in one respect at a time.
#[derive(Clone)]
pub(super) struct MeshManifest {
    kind: usize,
    content: usize,
    selector: bool,
    comment: &'static str,
    annotation: &'static str,
}

impl MeshManifest {
    fn of(kind: usize) -> Self {
        Self {
            kind,
            content: 0,
            selector: false,
            comment: "",
            annotation: "",
        }
    }

    /// Returns a manifest of each kind that may move without a collection of all facts.
    pub(super) fn all() -> Vec<Self> {
        (0..REPLACED).map(Self::of).collect()
    }

    /// Returns a manifest of a random kind.
    pub(super) fn new(random: &mut Random) -> Self {
        Self::of(random.below(KINDS.len()))
    }

    /// Changes one respect.
    pub(super) fn edit(&mut self, random: &mut Random) {
        match random.below(8) {
            0..4 => self.content = random.below(4),
            4 => self.selector = !self.selector,
            5 => self.comment = *random.one_of(&["", "# a comment\n", "# \u{e4}\n\n"]),
            6 => {
                self.annotation =
                    *random.one_of(&["", "owner: me", "istio.io/dry-run: 'true'", "a.b/c: d"]);
            }
            // Another identity.
            _ if random.below(4) == 0 => self.kind = random.below(KINDS.len()),
            _ => {}
        }
    }

    pub(super) fn text(&self) -> String {
        let Self {
            content,
            comment,
            annotation,
            ..
        } = self;
        let (kind, name, namespace) = KINDS[self.kind];
        let namespace = match namespace {
            "" => String::new(),
            namespace => format!(", namespace: {namespace}"),
        };
        let one_of = |values: [&'static str; 4]| values[content % 4];
        let labels = match kind {
            "Namespace" => one_of([
                "",
                "istio-injection: enabled",
                "istio-injection: disabled",
                "istio.io/rev: canary",
            ]),
            _ => "",
        };
        let mode = one_of(["STRICT", "PERMISSIVE", "DISABLE", "Strict"]);
        let target = one_of(["8080", "http", "9090", "'8080'"]);
        let selector = match (kind, self.selector) {
            ("PeerAuthentication", true) => "selector: {matchLabels: {app: web}}, ",
            ("Service", false) => "selector: {app: web}, ",
            ("Service", true) => "selector: {app: api}, ",
            _ => "",
        };
        let (version, spec) = match kind {
            "Namespace" => ("v1", String::new()),
            "Service" => (
                "v1",
                format!("spec: {{{selector}ports: [{{port: 80, targetPort: {target}}}]}}\n"),
            ),
            "PeerAuthentication" => (
                "security.istio.io/v1",
                format!(
                    "spec: {{{selector}mtls: {{mode: {mode}}}, portLevelMtls: {{{content}80: {{mode: {mode}}}}}}}\n"
                ),
            ),
            "AuthorizationPolicy" => (
                "security.istio.io/v1",
                format!(
                    "spec: {}\n",
                    one_of(["{}", "{action: DENY}", "{rules: [{}]}", "{action: AUDIT}"])
                ),
            ),
            "NetworkPolicy" => (
                "networking.k8s.io/v1",
                format!(
                    "spec: {{podSelector: {{}}, ingress: {}}}\n",
                    one_of(["[]", "[{}]", "[{ports: [{port: 8080}]}]", "[]"])
                ),
            ),
            "Sidecar" => (
                "networking.istio.io/v1",
                format!(
                    "spec: {{outboundTrafficPolicy: {{mode: {}}}}}\n",
                    one_of(["ALLOW_ANY", "REGISTRY_ONLY", "ALLOW_ANY", "ALLOW_ANY"])
                ),
            ),
            "ConfigMap" => ("v1", format!("data: {{a: '{content}'}}\n")),
            "CustomResourceDefinition" => (
                "apiextensions.k8s.io/v1",
                format!(
                    "spec: {{group: {}}}\n",
                    one_of(["example.com", "kuma.io", "example.com", "linkerd.io"])
                ),
            ),
            _ => (
                "rbac.authorization.k8s.io/v1",
                format!("rules: [{{verbs: ['{content}']}}]\n"),
            ),
        };
        format!(
            "{comment}apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {name}{}\n  labels: {{{labels}}}\n  \
             annotations: {{{annotation}}}\n{spec}",
            namespace.replace(", ", "\n  "),
        )
    }
}
