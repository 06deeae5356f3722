//! Builds the manifests that several tests use: block YAML with the metadata on one line.
//!
//! Arguments named `entries` are the content of a YAML flow mapping, such as `app: web, tier: front`;
//! empty ones are left out. A test about the exact bytes of a manifest contains the manifest itself.

use std::fmt::{self, Display, Formatter};

/// The namespace `shop`, which Istio injects into.
pub(crate) const INJECTED: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";

/// A Deployment with annotations, in the namespace `shop`.
pub(crate) const ANNOTATED_WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {a: b}}
    spec:
      containers:
      - name: web
        image: nginx
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: 8080}}
";

/// The policy that requires mutual TLS in the namespace `shop`.
pub(crate) const STRICT: &str = "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
";

/// The policy that requires mutual TLS in the whole mesh.
pub(crate) const STRICT_MESH: &str = "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
";

/// A pod of the namespace `shop` with an HTTP probe.
pub(crate) const PROBED: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    livenessProbe: {httpGet: {path: /, port: 8080}}
";

/// A pod of the namespace `shop` whose probe fails if mutual TLS is strict.
pub(crate) const NOT_REWRITTEN: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}
spec:
  containers:
  - name: web
    readinessProbe: {httpGet: {path: /, port: 8080}}
";

/// The annotation that switches the probe rewrite of Istio off.
pub(crate) const OPT_OUT: &str = "sidecar.istio.io/rewriteAppHTTPProbers: 'false'";

/// Joins manifests to one file.
pub(crate) fn join(documents: &[&str]) -> String {
    documents.join("---\n")
}

/// A manifest; `to_string` returns its YAML.
#[derive(Clone)]
pub(crate) struct Manifest {
    api_version: String,
    kind: &'static str,
    metadata: Metadata,
    fields: Vec<String>,
}

impl Manifest {
    pub(crate) fn new(api_version: &str, kind: &'static str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind,
            metadata: Metadata::named(name),
            fields: Vec::new(),
        }
    }

    pub(crate) fn namespace(name: &str) -> Self {
        Self::new("v1", "Namespace", name)
    }

    pub(crate) fn peer_authentication(namespace: &str, mode: &str) -> Self {
        Self::new("security.istio.io/v1", "PeerAuthentication", "default")
            .within(namespace)
            .spec(&format!("{{mtls: {{mode: {mode}}}}}"))
    }

    /// Builds an AuthorizationPolicy from the entries of its `spec`.
    pub(crate) fn authorization_policy(name: &str, entries: &str) -> Self {
        Self::new("security.istio.io/v1", "AuthorizationPolicy", name)
            .spec(&format!("{{{entries}}}"))
    }

    /// Builds an IstioOperator from the entries of its `spec`.
    pub(crate) fn operator(name: &str, entries: &str) -> Self {
        Self::new("install.istio.io/v1alpha1", "IstioOperator", name)
            .within("istio-system")
            .spec(&format!("{{{entries}}}"))
    }

    /// Builds a Service from the entries of its `spec`.
    pub(crate) fn service(name: &str, entries: &str) -> Self {
        Self::new("v1", "Service", name).spec(&format!("{{{entries}}}"))
    }

    /// Builds a ConfigMap from the entries of its `data`.
    pub(crate) fn config_map(name: &str, entries: &str) -> Self {
        Self::new("v1", "ConfigMap", name).field(&format!("data: {{{entries}}}"))
    }

    pub(crate) fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.metadata.name);
        self
    }

    /// Sets the namespace of the object.
    pub(crate) fn within(mut self, namespace: &str) -> Self {
        self.metadata.namespace = Some(namespace.to_owned());
        self
    }

    /// Adds the label that makes Istio inject into the namespace.
    pub(crate) fn injected(self) -> Self {
        self.labels("istio-injection: enabled")
    }

    pub(crate) fn labels(mut self, entries: &str) -> Self {
        self.metadata.labels.add(entries);
        self
    }

    pub(crate) fn annotations(mut self, entries: &str) -> Self {
        self.metadata.annotations.add(entries);
        self
    }

    /// Adds the `spec`: a value of one line, or a block with indentation.
    pub(crate) fn spec(self, spec: &str) -> Self {
        let after_key = if spec.starts_with(' ') { '\n' } else { ' ' };
        self.field(&format!("spec:{after_key}{spec}"))
    }

    /// Adds a field next to `metadata`, such as `data: {a: b}`.
    pub(crate) fn field(mut self, field: &str) -> Self {
        self.fields.extend(non_empty(field));
        self
    }
}

impl Display for Manifest {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        write_head(to, &self.api_version, self.kind, &self.metadata)?;
        self.fields
            .iter()
            .try_for_each(|field| writeln!(to, "{field}"))
    }
}

/// A Pod, or a Deployment with the pod as template; `to_string` returns its YAML.
#[derive(Clone)]
pub(crate) struct Pod {
    metadata: Metadata,
    in_deployment: bool,
    fields: Vec<String>,
    init_containers: Vec<Container>,
    containers: Vec<Container>,
    last_is_init: bool,
}

#[derive(Clone)]
struct Container {
    name: String,
    fields: Vec<String>,
}

impl Pod {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            metadata: Metadata::named(name),
            in_deployment: false,
            fields: Vec::new(),
            init_containers: Vec::new(),
            containers: Vec::new(),
            last_is_init: false,
        }
    }

    /// Starts a Deployment. Labels and annotations belong to its pods, which have the label `app` too.
    pub(crate) fn deployment(name: &str) -> Self {
        let pod = Self::new(name).labels(&format!("app: {name}"));
        Self {
            in_deployment: true,
            ..pod
        }
    }

    /// Sets the namespace of the object.
    pub(crate) fn within(mut self, namespace: &str) -> Self {
        self.metadata.namespace = Some(namespace.to_owned());
        self
    }

    pub(crate) fn labels(mut self, entries: &str) -> Self {
        self.metadata.labels.add(entries);
        self
    }

    pub(crate) fn annotations(mut self, entries: &str) -> Self {
        self.metadata.annotations.add(entries);
        self
    }

    /// Adds a field to the spec of the pod, such as `hostNetwork: true`; an empty one is left out.
    pub(crate) fn pod_field(mut self, field: &str) -> Self {
        self.fields.extend(non_empty(field));
        self
    }

    pub(crate) fn container(mut self, name: &str) -> Self {
        self.containers.push(Container::named(name));
        self.last_is_init = false;
        self
    }

    pub(crate) fn init_container(mut self, name: &str) -> Self {
        self.init_containers.push(Container::named(name));
        self.last_is_init = true;
        self
    }

    /// Adds a field to the last container, such as `image: x`, or several, one per line; an empty one
    /// is left out. A pod without a container gets one with the name of the pod.
    pub(crate) fn field(mut self, field: &str) -> Self {
        let fields = non_empty(field);
        let pod = self.metadata.name.clone();
        let list = if self.last_is_init {
            &mut self.init_containers
        } else {
            &mut self.containers
        };
        if list.is_empty() {
            list.push(Container::named(&pod));
        }
        list.last_mut().unwrap().fields.extend(fields);
        self
    }

    /// Adds a probe to the last container: a slot and its handler, such as `httpGet: {port: 8080}`.
    pub(crate) fn probe(self, slot: &str, handler: &str) -> Self {
        self.field(&format!("{slot}: {{{handler}}}"))
    }

    fn write_spec(&self, to: &mut Formatter<'_>, indent: &str) -> fmt::Result {
        writeln!(to, "{indent}spec:")?;
        for line in self.fields.iter().flat_map(|field| field.lines()) {
            writeln!(to, "{indent}  {line}")?;
        }
        for (list, containers) in [
            ("initContainers", &self.init_containers),
            ("containers", &self.containers),
        ] {
            if containers.is_empty() {
                continue;
            }
            writeln!(to, "{indent}  {list}:")?;
            for container in containers {
                writeln!(to, "{indent}  - name: {}", container.name)?;
                for line in container.fields.iter().flat_map(|field| field.lines()) {
                    writeln!(to, "{indent}    {line}")?;
                }
            }
        }
        Ok(())
    }
}

impl Display for Pod {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        if !self.in_deployment {
            write_head(to, "v1", "Pod", &self.metadata)?;
            return self.write_spec(to, "");
        }
        let (own, template) = self.metadata.of_deployment();
        write_head(to, "apps/v1", "Deployment", &own)?;
        let name = &self.metadata.name;
        writeln!(to, "spec:\n  selector: {{matchLabels: {{app: {name}}}}}")?;
        writeln!(to, "  template:\n    metadata: {template}")?;
        self.write_spec(to, "    ")
    }
}

impl Container {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            fields: Vec::new(),
        }
    }
}

#[derive(Clone, Default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    labels: Entries,
    annotations: Entries,
}

impl Metadata {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the metadata of a Deployment and that of its pods.
    fn of_deployment(&self) -> (Self, Self) {
        let mut own = Self::named(&self.name);
        own.namespace.clone_from(&self.namespace);
        let template = Self {
            name: String::new(),
            namespace: None,
            ..self.clone()
        };
        (own, template)
    }
}

impl Display for Metadata {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let mut fields = Entries::default();
        if !self.name.is_empty() {
            fields.add(&format!("name: {}", self.name));
        }
        if let Some(namespace) = &self.namespace {
            fields.add(&format!("namespace: {namespace}"));
        }
        for (field, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !entries.0.is_empty() {
                fields.add(&format!("{field}: {entries}"));
            }
        }
        write!(to, "{fields}")
    }
}

/// Entries of a flow mapping.
#[derive(Clone, Default)]
struct Entries(Vec<String>);

impl Entries {
    fn add(&mut self, entries: &str) {
        self.0.extend(non_empty(entries));
    }
}

impl Display for Entries {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        write!(to, "{{{}}}", self.0.join(", "))
    }
}

fn write_head(
    to: &mut Formatter<'_>,
    api_version: &str,
    kind: &str,
    metadata: &Metadata,
) -> fmt::Result {
    writeln!(
        to,
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {metadata}"
    )
}

fn non_empty(text: &str) -> Option<String> {
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

#[test]
fn manifests_are_valid_yaml() {
    assert_eq!(Manifest::namespace("shop").injected().to_string(), INJECTED);
    let policy = |namespace| Manifest::peer_authentication(namespace, "STRICT").to_string();
    assert_eq!(policy("shop"), STRICT);
    assert_eq!(policy("istio-system"), STRICT_MESH);
    let pod = Pod::deployment("web")
        .within("shop")
        .annotations(OPT_OUT)
        .pod_field("hostNetwork: true")
        .init_container("log")
        .field("restartPolicy: Always")
        .container("web")
        .probe("readinessProbe", "httpGet: {port: 8080}");
    insta::assert_snapshot!(pod, @r"
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: shop}
    spec:
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}, annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}}
        spec:
          hostNetwork: true
          initContainers:
          - name: log
            restartPolicy: Always
          containers:
          - name: web
            readinessProbe: {httpGet: {port: 8080}}
    ");
}
