//! Random trees of kustomizations, generated from a seed: bases, components, overlays of overlays, and objects of
//! Flux and Argo CD that deploy them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::random_overlay::Maker;

/// A small generator of pseudorandom numbers. A seed gives the same tree on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next()).unwrap() % count
    }

    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

/// The program that renders the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builder {
    /// The renderer of meshprobe, which knows Flux and Argo CD.
    InProcess,
    /// The real kustomize.
    Kustomize,
}

/// A workload of the base.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    pub(super) name: &'static str,
    pub(super) has_annotations: bool,
    pub(super) has_probe: bool,
    pub(super) object: Value,
}

impl Piece {
    /// The JSON pointer of the pod template.
    pub(super) fn template(&self) -> &'static str {
        match self.kind {
            "Pod" => "",
            "CronJob" => "/spec/jobTemplate/spec/template",
            _ => "/spec/template",
        }
    }
}

pub(crate) type Files = BTreeMap<String, String>;

pub(crate) fn yaml(value: &Value) -> String {
    serde_yaml::to_string(value).unwrap()
}

/// Returns the files of a tree.
pub(crate) fn tree(seed: u64, builder: Builder) -> Files {
    let mut random = Random::new(seed);
    let mut files = Files::new();
    let names = ["web", "web-2", "a-web", "api"];
    let count = 1 + random.below(3);
    let pieces: Vec<Piece> = (0..count)
        .map(|at| piece(&mut random, names[at], at))
        .collect();
    files.insert("base/app.yaml".into(), manifest(&mut random, &pieces));
    files.insert("base/mesh.yaml".into(), mesh(&mut random));
    let mut maker = Maker::new(random, pieces);
    let base = maker.kustomization(&["app.yaml", "mesh.yaml"], 25);
    files.insert("base/kustomization.yaml".into(), base);
    let mut component = maker.fields(70);
    component.insert(
        "apiVersion".into(),
        json!("kustomize.config.k8s.io/v1alpha1"),
    );
    component.insert("kind".into(), json!("Component"));
    files.insert(
        "component/kustomization.yaml".into(),
        yaml(&Value::Object(component)),
    );
    let mut below = "../base";
    if maker.percent(40) {
        let text = maker.kustomization(&[below], 60);
        files.insert("mid/kustomization.yaml".into(), text);
        below = "../mid";
    }
    for overlay in ["one", "two"] {
        let text = maker.overlay(below, overlay);
        files.insert(format!("{overlay}/kustomization.yaml"), text);
    }
    if maker.percent(15) {
        let all = json!({"resources": ["../one", "../two"]});
        files.insert("all/kustomization.yaml".into(), yaml(&all));
    }
    if builder == Builder::InProcess {
        files.extend(maker.deployment());
    }
    files
}

fn manifest(random: &mut Random, pieces: &[Piece]) -> String {
    let objects: Vec<Value> = pieces.iter().map(|piece| piece.object.clone()).collect();
    if random.percent(40) {
        return yaml(&json!({"apiVersion": "v1", "kind": "List", "items": objects}));
    }
    let each: Vec<String> = objects.iter().map(yaml).collect();
    each.join("---\n")
}

fn mesh(random: &mut Random) -> String {
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"istio-injection": "enabled", "team": "shop"}},
    });
    let policy = json!({
        "apiVersion": "security.istio.io/v1",
        "kind": "PeerAuthentication",
        "metadata": {"name": "default", "namespace": "shop"},
        "spec": {"mtls": {"mode": random.pick(&["STRICT", "PERMISSIVE"])}},
    });
    format!("{}---\n{}", yaml(&namespace), yaml(&policy))
}

fn piece(random: &mut Random, name: &'static str, at: usize) -> Piece {
    let (kind, api_version) = random.pick(&[
        ("Deployment", "apps/v1"),
        ("Deployment", "apps/v1"),
        ("StatefulSet", "apps/v1"),
        ("Pod", "v1"),
        ("CronJob", "batch/v1"),
    ]);
    let annotations = random.pick(&[
        None,
        None,
        Some(json!({"team": "shop"})),
        Some(json!({"proxy.istio.io/config": "proxyMetadata:\n  A: b\n"})),
        Some(json!({"proxy.istio.io/config": "proxy_metadata: {A: b}"})),
        Some(json!({"sidecar.istio.io/rewriteAppHTTPProbers": "false"})),
    ]);
    let mut metadata = json!({"labels": {"app": name}});
    if let Some(annotations) = &annotations {
        metadata["annotations"] = annotations.clone();
    }
    let has_probe = random.percent(85);
    let mut container = json!({
        "name": "web",
        "image": "registry.example/web:1",
        "ports": [{"name": "http", "containerPort": 8080}],
    });
    if has_probe {
        container["readinessProbe"] = probe(random);
    }
    if random.percent(40) {
        container["livenessProbe"] = probe(random);
    }
    let mut containers = vec![container];
    if random.percent(30) {
        containers.push(json!({"name": "side", "image": "side:1", "startupProbe": probe(random)}));
    }
    let spec = json!({"containers": containers});
    let template = json!({"metadata": metadata, "spec": spec});
    let mut own = json!({"name": name, "namespace": "shop", "labels": {"piece": format!("p{at}")}});
    let mut object = json!({"apiVersion": api_version, "kind": kind});
    let selector = json!({"matchLabels": {"app": name}});
    match kind {
        "Pod" => {
            own["labels"]["app"] = json!(name);
            if let Some(annotations) = &annotations {
                own["annotations"] = annotations.clone();
            }
            object["spec"] = template["spec"].clone();
        }
        "CronJob" => {
            let job = json!({"spec": {"template": template}});
            object["spec"] = json!({"schedule": "* * * * *", "jobTemplate": job});
        }
        _ => object["spec"] = json!({"selector": selector, "template": template}),
    }
    object["metadata"] = own;
    Piece {
        kind,
        api_version,
        name,
        has_annotations: annotations.is_some(),
        has_probe,
        object,
    }
}

pub(super) fn probe(random: &mut Random) -> Value {
    let port = random.pick(&[json!(8080), json!("http"), json!(9090)]);
    let number = random.pick(&[8080, 9090]);
    let mut probe = match random.below(6) {
        0 => json!({"tcpSocket": {"port": number}}),
        1 => json!({"grpc": {"port": number}}),
        2 => json!({"exec": {"command": ["true"]}}),
        _ => json!({"httpGet": {"path": "/ready", "port": port}}),
    };
    if random.percent(30) {
        probe["timeoutSeconds"] = json!(2);
    }
    probe
}
