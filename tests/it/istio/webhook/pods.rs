//! Random pods for the model: every kind of handler in every slot, and the other fields that decide the result.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// A pod, and the mesh that injects it.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) minor: u32,
    pub(crate) native: bool,
    pub(crate) status_port: i64,
    pub(crate) has_proxy: bool,
    annotations: Map<String, Value>,
    containers: Vec<Value>,
    inits: Vec<Value>,
    proxy: Option<Value>,
}

impl Trial {
    pub(crate) fn text(&self) -> String {
        let mut containers = self.containers.clone();
        containers.extend(self.proxy.clone());
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop", "annotations": self.annotations},
            "spec": {"initContainers": self.inits, "containers": containers},
        });
        serde_yaml::to_string(&pod).unwrap()
    }
}

pub(crate) fn trials() -> BoxedStrategy<Trial> {
    let mesh = (
        select(vec![
            10, 11, 12, 13, 16, 17, 18, 19, 20, 24, 25, 26, 27, 28, 30, 31,
        ]),
        any::<bool>(),
        select(vec![15020_i64, 15020, 15099]),
    );
    let pod = (
        annotations(),
        vec(container(), 1..4),
        option::weighted(0.3, container()),
        option::weighted(0.2, proxy()),
    );
    (mesh, pod)
        .prop_map(
            |((minor, native, status_port), (annotations, containers, init, proxy))| Trial {
                minor,
                native: native && minor >= 19,
                status_port,
                has_proxy: proxy.is_some(),
                annotations,
                containers: named("app", containers),
                inits: named("native", init.into_iter().collect())
                    .into_iter()
                    .map(|mut container| {
                        container["restartPolicy"] = json!("Always");
                        container
                    })
                    .collect(),
                proxy,
            },
        )
        .boxed()
}

fn named(stem: &str, containers: Vec<Value>) -> Vec<Value> {
    let each = containers.into_iter().enumerate();
    each.map(|(index, mut container)| {
        container["name"] = json!(format!("{stem}-{index}"));
        container
    })
    .collect()
}

fn annotations() -> BoxedStrategy<Map<String, Value>> {
    let each = vec![
        ("team", "shop"),
        ("status.sidecar.istio.io/port", "15022"),
        ("sidecar.istio.io/rewriteAppHTTPProbers", "true"),
        ("sidecar.istio.io/rewriteAppHTTPProbers", "off"),
        (
            "proxy.istio.io/config",
            "holdApplicationUntilProxyStarts: true\n",
        ),
        (
            "proxy.istio.io/config",
            "# ours\nproxyMetadata:\n  ISTIO_META_DNS: \"true\"\n",
        ),
        (
            "proxy.istio.io/config",
            "{\"proxyMetadata\": {\"A\": \"b\"}}",
        ),
        ("proxy.istio.io/config", "concurrency: 2"),
    ];
    vec(select(each), 0..3)
        .prop_map(|chosen| {
            let each = chosen.into_iter();
            each.map(|(key, value)| (key.to_owned(), json!(value)))
                .collect()
        })
        .boxed()
}

/// Generates a user's `istio-proxy`; the first has only a name and an image.
fn proxy() -> BoxedStrategy<Value> {
    let own = vec![
        json!({"name": "istio-proxy", "image": "auto"}),
        json!({"name": "istio-proxy", "image": "auto", "env": [{"name": "FOO", "value": "bar"}]}),
        json!({"name": "istio-proxy", "image": "auto", "readinessProbe": {"httpGet": {"path": "/x", "port": 1}}}),
    ];
    select(own).boxed()
}

fn container() -> BoxedStrategy<Value> {
    let slots = (
        option::of(probe()),
        option::weighted(0.4, probe()),
        option::weighted(0.3, probe()),
    );
    let hooks = (option::weighted(0.3, hook()), option::weighted(0.2, hook()));
    (slots, hooks).prop_map(|((readiness, liveness, startup), (stop, start))| {
        let mut container = json!({
            "image": "example.test/app:1",
            "ports": [{"name": "http", "containerPort": 8080}, {"name": "grpc", "containerPort": 9090}],
        });
        let probes = [("readinessProbe", readiness), ("livenessProbe", liveness), ("startupProbe", startup)];
        for (slot, probe) in probes {
            if let Some(probe) = probe {
                container[slot] = probe;
            }
        }
        for (slot, hook) in [("preStop", stop), ("postStart", start)] {
            if let Some(hook) = hook {
                container["lifecycle"][slot] = hook;
            }
        }
        container
    })
    .boxed()
}

fn probe() -> BoxedStrategy<Value> {
    let timing = select(vec![
        "timeoutSeconds",
        "periodSeconds",
        "initialDelaySeconds",
    ]);
    let kind = prop_oneof![4 => http(), 2 => tcp(), 2 => grpc(), 1 => Just(json!({"exec": {"command": ["true"]}}))];
    (kind, option::of((timing, 0..9_i64)))
        .prop_map(|(mut probe, timing)| {
            if let Some((key, seconds)) = timing {
                probe[key] = json!(seconds);
            }
            probe
        })
        .boxed()
}

fn hook() -> BoxedStrategy<Value> {
    prop_oneof![3 => http(), 1 => tcp(), 2 => Just(json!({"exec": {"command": ["sleep", "5"]}}))]
        .boxed()
}

/// Generates mostly valid ports, and a few that a guard refuses.
fn port() -> BoxedStrategy<Value> {
    prop_oneof![
        60 => (1..65536_i64).prop_map(|port| json!(port)),
        30 => select(vec!["http", "grpc"]).prop_map(|name| json!(name)),
        1 => select(vec![json!("metrics"), json!("8080"), json!(0), json!(15020)]),
    ]
    .boxed()
}

fn http() -> BoxedStrategy<Value> {
    let path = prop_oneof![
        20 => select(vec!["/", "/ready", "ready", "", "/a?b=1&c=<2>", "/ü", "/q\"'\\x", "/\u{7f}\u{85}\u{2028}", "/x%20y"])
            .prop_map(str::to_owned),
        10 => "/[ -~]{0,12}".prop_map(|text| text.replace(['$', '%', '{', '}', '<', '#'], "_")),
        1 => Just("/u=$(POD)".to_owned()),
    ];
    let header = (
        select(vec!["X-Probe", "Host", "Accept"]),
        select(vec!["1", "a, b", "&<>", ""]),
    );
    let headers = header.prop_map(|(name, value)| json!({"name": name, "value": value}));
    let rest = (
        option::of(select(vec!["HTTP", "HTTPS"])),
        option::weighted(0.3, vec(headers, 0..3)),
        option::weighted(0.03, select(vec!["localhost", "10.0.0.1"])),
    );
    (option::weighted(0.9, path), port(), rest)
        .prop_map(|(path, port, (scheme, headers, host))| {
            let mut http = json!({"port": port});
            if let Some(path) = path {
                http["path"] = json!(path);
            }
            if let Some(scheme) = scheme {
                http["scheme"] = json!(scheme);
            }
            if let Some(headers) = headers {
                http["httpHeaders"] = json!(headers);
            }
            if let Some(host) = host {
                http["host"] = json!(host);
            }
            json!({"httpGet": http})
        })
        .boxed()
}

fn tcp() -> BoxedStrategy<Value> {
    port()
        .prop_map(|port| json!({"tcpSocket": {"port": port}}))
        .boxed()
}

fn grpc() -> BoxedStrategy<Value> {
    let service = select(vec!["", "shop.Health", "a<b"]);
    (1..65536_i64, option::of(service))
        .prop_map(|(port, service)| match service {
            Some(service) => json!({"grpc": {"port": port, "service": service}}),
            None => json!({"grpc": {"port": port}}),
        })
        .boxed()
}
