//! Faults of a `WorkloadGroup`: values that istiod rejects, and values that get lost.
//!
//! The faults that a `WorkloadGroup` can have.
//!
//! Values of a wrong type because of which istioctl cannot write `mesh.yaml`.
//!
//! Source: Istio 1.31, `createMeshConfig` in `istioctl/pkg/workload/workload.go`.

use std::sync::Arc;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, FieldPath, NodeRef, Scalar, Span, parse_embedded};

use super::probe::{
    Field, HEADER, Method, NUMBERS, SPEC, Type, field, kept, methods, number, value,
};
use crate::kube::Object;
use crate::mesh::Version;
use crate::mesh::istio::config_schema::PROXY_CONFIG;
use crate::mesh::istio::proxy_config::{ProxyConfig, Unreadable};
use crate::mesh::istio::{admission, proto_type};

/// Returns the faults of a `WorkloadGroup`, in the order of its fields. Placeholders are not faults.
#[must_use]
pub fn find_faults(group: &Object<'_>) -> Vec<Fault> {
    let mut found = FaultCollector {
        ports: None,
        found: Vec::new(),
    };
    let route = FieldPath::keys(&["spec"]);
    let spec = group.node.get("spec");
    let template = spec.and_then(|spec| field(spec, "template"));
    if template.is_none() {
        found.push(FaultKind::NoTemplate, group.name_span(), &route);
    }
    for rejection in admission::workload_template(group) {
        let reason = format!("the value {}", rejection.reason);
        found.wrong_type(reason, rejection.span, &rejection.route);
    }
    found.ports = template.and_then(|template| template.value.get("ports"));
    if let Some(spec) = spec {
        found.keys(spec, SPEC.to_vec(), &route);
        if let Some(probe) = field(spec, "probe") {
            found.probe(probe, &route.child("probe"));
        }
    }
    found.found
}

struct FaultCollector<'t> {
    /// `spec.template.ports`: names with numbers.
    ports: Option<NodeRef<'t>>,
    found: Vec<Fault>,
}

impl<'t> FaultCollector<'t> {
    fn push(&mut self, kind: FaultKind, span: Span, within: &FieldPath) {
        self.found.push(Fault {
            kind,
            span,
            within: within.clone(),
        });
    }

    fn wrong_type(&mut self, reason: impl Into<String>, span: Span, within: &FieldPath) {
        self.push(FaultKind::WrongType(reason.into()), span, within);
    }

    /// Returns whether a value is a mapping. Reports any other value, except a placeholder.
    fn mapping(&mut self, node: NodeRef<'t>, route: &FieldPath) -> bool {
        if !node.is_mapping() && !is_open(node) {
            self.wrong_type("expected a mapping", node.span(), route);
        }
        node.is_mapping()
    }

    fn probe(&mut self, probe: Entry<'t>, route: &FieldPath) {
        let node = probe.value;
        if !self.mapping(node, route) {
            return;
        }
        let mut known = names(NUMBERS);
        known.extend(Method::ALL.map(Method::key));
        self.keys(node, known, route);
        for (name, kind) in NUMBERS {
            if let Some(entry) = field(node, name) {
                self.number(entry, *kind, &route.child(*name));
            }
        }
        let Some((kept, _)) = kept(node) else {
            self.push(FaultKind::NoMethod, probe.key.span(), route);
            return;
        };
        let all = methods(node);
        let dropped: Vec<Method> = all
            .iter()
            .map(|(method, _)| *method)
            .filter(|method| *method != kept)
            .collect();
        if let Some(first) = dropped.first() {
            let span = field(node, first.key()).map_or(probe.key.span(), |entry| entry.key.span());
            self.push(FaultKind::SeveralMethods { kept, dropped }, span, route);
        }
        for (method, entry) in all {
            self.method(method, entry, method == kept, &route.child(method.key()));
        }
    }

    fn number(&mut self, entry: Entry<'t>, kind: Type, route: &FieldPath) {
        if is_open(entry.value) {
            return;
        }
        if number(entry.value).is_some_and(|number| number < 0) {
            self.push(FaultKind::Negative, entry.value.span(), route);
        } else if entry.value.as_str().is_some() {
            // istioctl accepts numbers in quotes, the API server does not.
            let expected = "expected an integer, found a string";
            self.wrong_type(expected, entry.value.span(), route);
        } else {
            self.typed(entry.value, kind, route);
        }
    }

    /// Checks the type of a value; returns whether it is correct.
    fn typed(&mut self, node: NodeRef<'t>, kind: Type, route: &FieldPath) -> bool {
        let result = value(node, kind, route);
        result
            .map_err(|misread| self.wrong_type(misread.message, misread.span, &misread.route))
            .is_ok()
    }

    fn method(&mut self, method: Method, entry: Entry<'t>, is_kept: bool, route: &FieldPath) {
        let node = entry.value;
        if !self.mapping(node, route) {
            return;
        }
        self.keys(node, names(method.fields()), route);
        if method == Method::Grpc && is_kept {
            self.push(FaultKind::Grpc, entry.key.span(), route);
        }
        for (name, kind) in method.fields() {
            let route = route.child(*name);
            match (kind, field(node, name)) {
                (Type::Headers, Some(headers)) => self.headers(headers.value, &route),
                (Type::Port, port) if is_kept => self.port(port, entry, &route),
                (Type::Words, None) if is_kept => {
                    self.push(FaultKind::NoCommand, entry.key.span(), &route);
                }
                (_, Some(value)) if !is_open(value.value) => {
                    let is_right = self.typed(value.value, *kind, &route);
                    if is_right && is_kept {
                        self.content(name, value, &route);
                    }
                }
                _ => {}
            }
        }
    }

    /// Checks values of the correct type.
    fn content(&mut self, name: &str, entry: Entry<'t>, route: &FieldPath) {
        let node = entry.value;
        match name {
            "scheme" if !matches!(node.text(), Some("" | "HTTP" | "HTTPS")) => {
                self.push(FaultKind::Scheme, node.span(), route);
            }
            "command" if node.items().len() == 0 => {
                self.push(FaultKind::NoCommand, entry.key.span(), route);
            }
            "command" => {
                let is_empty = |(_, word): &(usize, NodeRef<'_>)| word.text() == Some("");
                for (index, word) in node.items().enumerate().filter(is_empty) {
                    let reason = "the value is empty, which the schema does not allow";
                    self.wrong_type(reason, word.span(), &route.child(index));
                }
            }
            _ => {}
        }
    }

    fn port(&mut self, port: Option<Entry<'t>>, method: Entry<'t>, route: &FieldPath) {
        let Some(port) = port else {
            let kind = FaultKind::PortOutOfRange(None);
            self.push(kind, method.key.span(), route);
            return;
        };
        let node = port.value;
        if is_open(node) {
            return;
        }
        let text = node.as_str();
        match (text, number(node)) {
            (None, Some(number)) if !(1..=65535).contains(&number) => {
                self.push(FaultKind::PortOutOfRange(Some(number)), node.span(), route);
            }
            (None, Some(_)) => {}
            (Some(text), quoted) => {
                let named = self.ports.and_then(|ports| ports.get(text));
                let named = named.and_then(crate::kube::integer);
                let kind = FaultKind::PortName {
                    name: text.to_owned(),
                    number: quoted.or(named),
                };
                self.push(kind, node.span(), route);
            }
            (None, None) => {
                self.typed(node, Type::Port, route);
            }
        }
    }

    fn headers(&mut self, node: NodeRef<'t>, route: &FieldPath) {
        if !node.is_sequence() {
            self.typed(node, Type::Headers, route);
            return;
        }
        for (index, header) in node.items().enumerate() {
            let route = route.child(index);
            if !self.mapping(header, &route) {
                continue;
            }
            self.keys(header, names(HEADER), &route);
            self.header_name(header, &route);
            if let Some(value) = field(header, "value") {
                self.header_value(value.value, &route.child("value"));
            }
        }
    }

    fn header_name(&mut self, header: NodeRef<'t>, route: &FieldPath) {
        let route = route.child("name");
        let Some(name) = field(header, "name") else {
            self.push(FaultKind::HeaderName, header.span(), &route);
            return;
        };
        let node = name.value;
        if is_open(node) || !self.typed(node, Type::Text, &route) {
            return;
        }
        let text = node.text().unwrap_or_default();
        if !is_header_name(text) {
            self.push(FaultKind::HeaderName, node.span(), &route);
        }
    }

    fn header_value(&mut self, node: NodeRef<'t>, route: &FieldPath) {
        match node.scalar() {
            _ if is_open(node) => {}
            None | Some(Scalar::Str(_)) => {
                self.typed(node, Type::Text, route);
            }
            Some(other) => {
                let kind = FaultKind::HeaderValue(other.type_name());
                self.push(kind, node.span(), route);
            }
        }
    }

    /// Reports the unknown keys of a mapping.
    fn keys(&mut self, node: NodeRef<'t>, known: Vec<&'static str>, route: &FieldPath) {
        for entry in node.entries().filter(|entry| !entry.key.is_merge_key()) {
            let name = entry.key.text().unwrap_or_default();
            if known.contains(&name) || placeholder::contains(name) {
                continue;
            }
            let kind = FaultKind::UnknownField(known.clone());
            self.push(kind, entry.key.span(), &route.child(name.to_owned()));
        }
    }
}

fn names(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().map(|(name, _)| *name).collect()
}

/// Returns whether another tool fills in the value.
fn is_open(node: NodeRef<'_>) -> bool {
    node.text().is_some_and(placeholder::contains)
}

/// Returns whether istiod accepts the name of a header: `validProbeHeaderNameRegex` in
/// `pkg/config/validation/validation.go`, Istio 1.31. The schema of the definition also allows `_`.
fn is_header_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_allowed)
}

/// A fault of a `WorkloadGroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The position of the wrong key or value.
    pub span: Span,
    /// The route from the object.
    pub within: FieldPath,
}

/// The kinds of faults of a `WorkloadGroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// There is no `spec.template`.
    NoTemplate,
    /// The probe has no method.
    NoMethod,
    /// The probe has several methods.
    SeveralMethods {
        /// The method that is used.
        kept: Method,
        /// The methods that are dropped.
        dropped: Vec<Method>,
    },
    /// The method that is used is `grpc`.
    Grpc,
    /// A number below 0.
    Negative,
    /// A port that is missing or out of range.
    PortOutOfRange(Option<i64>),
    /// A port that is a string.
    PortName {
        /// The string.
        name: String,
        /// The number that it may mean.
        number: Option<i64>,
    },
    /// A scheme other than `HTTP` and `HTTPS`.
    Scheme,
    /// A header name that istiod rejects.
    HeaderName,
    /// A header value that the tools of Kubernetes do not read as a string.
    HeaderValue(&'static str),
    /// `exec` without a command.
    NoCommand,
    /// A field that the API does not have; contains the fields that it has there.
    UnknownField(Vec<&'static str>),
    /// A value of a wrong type.
    WrongType(String),
}

impl FaultKind {
    /// Returns whether the API server or istiod may refuse the object. An unknown field is only dropped.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        !matches!(self, Self::UnknownField(_))
    }

    /// Describes the fault in a few words.
    #[must_use]
    pub const fn summary(&self) -> &'static str {
        match self {
            Self::NoTemplate => "the template is missing",
            Self::NoMethod => "the probe checks nothing",
            Self::SeveralMethods { .. } => "the probe has several handlers",
            Self::Grpc => "a gRPC probe is not accepted",
            Self::Negative => "the number is negative",
            Self::PortOutOfRange(_) => "the port is missing or out of range",
            Self::PortName { .. } => "the port is not a number",
            Self::Scheme => "the scheme is neither HTTP nor HTTPS",
            Self::HeaderName => "the header has no valid name",
            Self::HeaderValue(_) => "the header value is not a string",
            Self::NoCommand => "the command is missing",
            Self::UnknownField(_) => "the API does not have this field",
            Self::WrongType(_) => "the value has another type than the API expects",
        }
    }
}

/// Returns why istioctl rejects the text of an annotation, if all of its releases do.
pub(super) fn annotation_fault(text: &str) -> Option<String> {
    let config = match ProxyConfig::parse(text) {
        Ok(config) => config,
        Err(Unreadable::Refused(reason)) => return Some(reason),
        Err(Unreadable::Differs(_)) => return None,
    };
    let fault = config.fault(Some(Version::FIRST_MODELLED_ISTIO))?;
    Some(fault.message)
}

/// Returns why all releases of istioctl reject `defaultConfig` in the text of a mesh configuration.
pub(super) fn default_config_fault(text: &str) -> Option<String> {
    let text: Arc<str> = Arc::from(text);
    let tree = parse_embedded(&text, Span::new(0, text.len())).ok()??;
    let config = tree.root()?.get("defaultConfig")?;
    let mut faults = proto_type::faults(config, PROXY_CONFIG).into_iter();
    let fault = faults.find(|fault| fault.since.is_none())?;
    Some(fault.message)
}
