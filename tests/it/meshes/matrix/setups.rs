//! The configurations of the matrix.

use meshprobe::mesh::{self, Mesh, SetupSource};

/// A configuration of a mesh, with the values of its columns.
#[derive(Clone, Debug)]
pub(super) struct MatrixSetup {
    /// The name of the mesh in the data.
    pub(super) mesh: &'static str,
    /// The mesh of the model; `None` for a pod outside of any mesh.
    pub(super) model: Option<Mesh>,
    /// The configuration in words; empty if the other columns state it.
    pub(super) setup: String,
    /// The mode of mutual TLS; empty if the mesh has none.
    pub(super) mtls: &'static str,
    /// `on` or `off`; empty if the mesh does not rewrite, or does not let pods choose.
    pub(super) rewrite: &'static str,
    /// `captured` or `excluded`.
    pub(super) port: &'static str,
    /// The releases, in ascending order.
    pub(super) releases: Vec<(u16, u16)>,
    /// The annotations of the pods, as entries of a YAML flow mapping.
    pub(super) annotations: String,
    /// The documents in front of the pods, each followed by `---`.
    pub(super) objects: String,
    /// Whether the Istio sidecar is a native sidecar, if that is a fact of the configuration.
    pub(super) native_sidecars: Option<bool>,
    /// The source, unless each cause has its own.
    pub(super) source: Option<SetupSource>,
}

/// The modes of `docs/evidence/live-proof.csv`, each with its policies in namespace `shop`.
const MODES: [(&str, &[(&str, &str)]); 6] = [
    (
        "DISABLE",
        &[("PeerAuthentication", "{mtls: {mode: DISABLE}}")],
    ),
    ("unset", &[]),
    (
        "PERMISSIVE",
        &[("PeerAuthentication", "{mtls: {mode: PERMISSIVE}}")],
    ),
    (
        "STRICT",
        &[("PeerAuthentication", "{mtls: {mode: STRICT}}")],
    ),
    (
        "PERMISSIVE, AuthorizationPolicy",
        &[
            ("PeerAuthentication", "{mtls: {mode: PERMISSIVE}}"),
            (
                "AuthorizationPolicy",
                "{action: ALLOW, rules: [{from: [{source: {principals: [cluster.local/ns/shop/sa/web]}}]}]}",
            ),
        ],
    ),
    (
        "STRICT, portLevelMtls DISABLE",
        &[(
            "PeerAuthentication",
            "{selector: {matchLabels: {app: web}}, mtls: {mode: STRICT}, portLevelMtls: {8080: {mode: DISABLE}}}",
        )],
    ),
];

/// The releases of Istio for which meshprobe predicts rewrites.
const ISTIO: std::ops::RangeInclusive<u16> = 10..=31;
/// The first release of Istio that exempts the kubelet in ambient mode by its address.
const AMBIENT: std::ops::RangeInclusive<u16> = 21..=31;

fn namespace(label: &str) -> String {
    format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{{label}}}}}\n---\n")
}

fn policies(policies: &[(&str, &str)]) -> String {
    let document = |(kind, spec): &(&str, &str)| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: {kind}\nmetadata: {{name: default, namespace: shop}}\nspec: {spec}\n---\n"
        )
    };
    policies.iter().map(document).collect()
}

fn releases(minors: std::ops::RangeInclusive<u16>) -> Vec<(u16, u16)> {
    minors.map(|minor| (1, minor)).collect()
}

/// Returns all configurations, in the order of the page.
pub(super) fn setups() -> Vec<MatrixSetup> {
    let mut all = vec![outside()];
    all.extend(sidecar());
    all.extend(ambient());
    for model in mesh::all().filter(|mesh| *mesh != Mesh::ISTIO) {
        let setups = mesh::setups(model).iter();
        all.extend(setups.map(|setup| MatrixSetup {
            mesh: model.as_str(),
            model: Some(model),
            setup: setup.title.replace('`', ""),
            mtls: "",
            rewrite: "",
            port: "captured",
            releases: setup.releases.to_vec(),
            annotations: setup.annotations.to_owned(),
            objects: setup.objects.to_owned(),
            native_sidecars: None,
            source: Some(setup.source),
        }));
    }
    all
}

/// Returns the configuration without a mesh.
fn outside() -> MatrixSetup {
    MatrixSetup {
        mesh: "none",
        model: None,
        setup: "no mesh".to_owned(),
        mtls: "",
        rewrite: "",
        port: "captured",
        releases: vec![(1, 0)],
        annotations: String::new(),
        objects: namespace("a: b"),
        native_sidecars: None,
        source: None,
    }
}

/// The Istio sidecar as an ordinary container, and as a native sidecar since the first release whose annotation
/// `sidecar.istio.io/nativeSidecar` selects it.
const SIDECARS: [(&str, bool, std::ops::RangeInclusive<u16>); 2] =
    [("sidecar", false, ISTIO), ("native sidecar", true, 24..=31)];

fn sidecar() -> Vec<MatrixSetup> {
    let mut all = Vec::new();
    for (name, is_native, minors) in SIDECARS {
        for (mtls, objects) in MODES {
            for (rewrite, value) in [("on", "true"), ("off", "false")] {
                for port in ["captured", "excluded"] {
                    let mut annotations =
                        format!("sidecar.istio.io/rewriteAppHTTPProbers: \"{value}\"");
                    if port == "excluded" {
                        annotations += ", traffic.sidecar.istio.io/excludeInboundPorts: \"8080\"";
                    }
                    all.push(MatrixSetup {
                        mesh: "istio-sidecar",
                        model: Some(Mesh::ISTIO),
                        setup: name.to_owned(),
                        mtls,
                        rewrite,
                        port,
                        releases: releases(minors.clone()),
                        annotations,
                        objects: namespace("istio-injection: enabled") + &policies(objects),
                        native_sidecars: Some(is_native),
                        source: None,
                    });
                }
            }
        }
    }
    all
}

fn ambient() -> impl Iterator<Item = MatrixSetup> {
    let modes = MODES.into_iter();
    let plain = modes.filter(|(mtls, _)| ["PERMISSIVE", "STRICT"].contains(mtls));
    plain.map(|(mtls, objects)| MatrixSetup {
        mesh: "istio-ambient",
        model: Some(Mesh::ISTIO),
        setup: "ambient".to_owned(),
        mtls,
        rewrite: "",
        port: "captured",
        releases: releases(AMBIENT),
        annotations: String::new(),
        objects: namespace("istio.io/dataplane-mode: ambient") + &policies(objects),
        native_sidecars: None,
        source: None,
    })
}
