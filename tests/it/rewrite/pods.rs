//! Random workloads with probes of all kinds; `layouts` prints them in random layouts.

use proptest::prelude::*;
use proptest::sample::select;

use crate::yaml::layouts::Node;

type Entries = Vec<(&'static str, Node)>;

fn map(flow: bool, entries: Entries) -> Node {
    Node::Map(flow, entries)
}

/// Generates a selection of fields.
fn fields(
    options: Vec<(&'static str, BoxedStrategy<Option<Node>>)>,
) -> impl Strategy<Value = Entries> {
    let (keys, values): (Vec<_>, Vec<_>) = options.into_iter().unzip();
    values.prop_map(move |values| {
        let pairs = keys.iter().zip(values);
        pairs
            .filter_map(|(key, value)| Some((*key, value?)))
            .collect()
    })
}

/// The kind of values that probes contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Ports as names and as numbers, with or without defaults.
    Freely,
    /// Values that an undo restores from a prober env: ports by name if they have one, always a path, no empty and no
    /// shared values.
    AsRecorded,
}

impl Written {
    /// Selects one of the options. An undo restores the first `recorded` ones as they were.
    fn one_of(self, options: &[Option<Node>], recorded: usize) -> BoxedStrategy<Option<Node>> {
        match self {
            Self::Freely => one_of(options),
            Self::AsRecorded => one_of(&options[..recorded]),
        }
    }
}

fn one_of(options: &[Option<Node>]) -> BoxedStrategy<Option<Node>> {
    select(options.to_vec()).boxed()
}

fn http(written: Written) -> impl Strategy<Value = (&'static str, Node)> {
    let path = written.one_of(
        &[
            Some(Node::Plain("/")),
            Some(Node::Plain("/healthz")),
            Some(Node::Double("/ready")),
            Some(Node::Single("/a: b # x")),
            Some(Node::Plain("/ü?a=1&b=<2>")),
            None,
        ],
        4,
    );
    let port = written.one_of(
        &[
            Some(Node::Plain("http")),
            Some(Node::Plain("9090")),
            Some(Node::Plain("8080")),
            Some(Node::Double("http")),
        ],
        2,
    );
    let scheme = one_of(&[
        None,
        None,
        Some(Node::Plain("HTTP")),
        Some(Node::Double("HTTPS")),
    ]);
    let header = map(
        true,
        vec![("name", Node::Plain("X-A")), ("value", Node::Double("1"))],
    );
    let headers = one_of(&[
        None,
        None,
        Some(Node::Seq(true, Vec::new())),
        Some(Node::Seq(false, vec![header])),
    ]);
    let all = fields(vec![
        ("path", path),
        ("port", port),
        ("scheme", scheme),
        ("httpHeaders", headers),
    ]);
    (any::<bool>(), all.prop_shuffle()).prop_map(|(flow, fields)| ("httpGet", map(flow, fields)))
}

fn handler(written: Written) -> impl Strategy<Value = (&'static str, Node)> {
    let tcp = (
        any::<bool>(),
        select(if written == Written::Freely {
            vec!["8080", "5432", "http"]
        } else {
            vec!["http", "5432"]
        }),
    )
        .prop_map(|(flow, port)| ("tcpSocket", map(flow, vec![("port", Node::Plain(port))])));
    let service = written.one_of(&[None, Some(Node::Plain("app")), Some(Node::Double(""))], 2);
    let grpc = fields(vec![
        ("port", one_of(&[Some(Node::Plain("9090"))])),
        ("service", service),
    ]);
    let grpc = (any::<bool>(), grpc).prop_map(|(flow, fields)| ("grpc", map(flow, fields)));
    let exec = Just((
        "exec",
        map(
            false,
            vec![("command", Node::Seq(true, vec![Node::Double("x")]))],
        ),
    ));
    prop_oneof![6 => http(written), 3 => tcp, 2 => grpc, 1 => exec]
}

fn probe(written: Written) -> impl Strategy<Value = Node> {
    let timing = fields(vec![
        ("periodSeconds", one_of(&[None, Some(Node::Plain("5"))])),
        (
            "timeoutSeconds",
            one_of(&[None, Some(Node::Plain("3")), Some(Node::Plain("1"))]),
        ),
        (
            "initialDelaySeconds",
            one_of(&[None, None, Some(Node::Plain("10"))]),
        ),
    ]);
    let freely = written == Written::Freely;
    let written = (prop::bool::weighted(0.2), handler(written), timing)
        .prop_map(|(flow, handler, timing)| (flow, [vec![handler], timing].concat()));
    let written = written.prop_flat_map(|(flow, fields)| {
        Just(fields)
            .prop_shuffle()
            .prop_map(move |fields| map(flow, fields))
    });
    let written = written.boxed();
    if !freely {
        return written;
    }
    prop_oneof![
        12 => written.clone(),
        2 => written.prop_map(|probe| Node::Anchored(Box::new(probe))),
        1 => Just(Node::Alias(0)),
        1 => Just(Node::Merged(0, vec![("failureThreshold", Node::Plain("4"))])),
    ]
    .boxed()
}

fn container(name: &'static str, written: Written) -> impl Strategy<Value = Node> {
    let hook = (any::<bool>(), http(written))
        .prop_map(|(flow, handler)| Some(map(false, vec![("preStop", map(flow, vec![handler]))])));
    let some = || prop::option::weighted(0.5, probe(written)).boxed();
    let ports = Node::Seq(
        false,
        vec![map(
            true,
            vec![
                ("name", Node::Plain("http")),
                ("containerPort", Node::Plain("8080")),
            ],
        )],
    );
    let all = fields(vec![
        ("name", one_of(&[Some(Node::Plain(name))])),
        (
            "image",
            one_of(&[Some(Node::Plain("registry.example/app:1"))]),
        ),
        (
            "args",
            one_of(&[None, Some(Node::Block("|", &["one", "two"]))]),
        ),
        ("ports", one_of(&[Some(ports)])),
        ("livenessProbe", some()),
        ("readinessProbe", some()),
        ("startupProbe", some()),
        ("lifecycle", prop_oneof![3 => Just(None), 1 => hook].boxed()),
    ]);
    all.prop_shuffle().prop_map(|fields| map(false, fields))
}

/// Annotations that a pod may have before a rewrite.
fn annotations(written: Written) -> BoxedStrategy<Option<Node>> {
    let config = |node: Node| {
        vec![
            ("example.com/a", Node::Double("yes")),
            ("proxy.istio.io/config", node),
        ]
    };
    let some = |entries| Some(map(false, entries));
    let literal = Node::Block(
        "|",
        &["concurrency: 2", "# kept", "proxyMetadata:", "  A: b"],
    );
    let other = vec![("example.com/a", Node::Double("yes"))];
    written.one_of(
        &[
            None,
            some(other.clone()),
            Some(map(true, other)),
            some(config(literal)),
            some(config(Node::Block("|", &["concurrency: 2"]))),
            some(config(Node::Single("{\"concurrency\": 2}"))),
            Some(map(true, Vec::new())),
            Some(Node::Empty),
            some(config(Node::Block("|-", &["concurrency: 2"]))),
            some(config(Node::Single("concurrency: 2"))),
            some(config(Node::Double(""))),
            some(vec![(
                "sidecar.istio.io/rewriteAppHTTPProbers",
                Node::Double("true"),
            )]),
        ],
        6,
    )
}

/// Generates Deployments with one or two containers, and sometimes a native sidecar.
pub(crate) fn deployments(written: Written) -> impl Strategy<Value = Entries> {
    let labels = one_of(&[
        None,
        Some(map(true, vec![("app", Node::Plain("web"))])),
        Some(map(false, vec![("app", Node::Plain("web"))])),
    ]);
    let metadata = fields(vec![
        ("labels", labels),
        ("annotations", annotations(written)),
    ])
    .prop_shuffle();
    let sidecar = container("side", written).prop_map(|container| match container {
        Node::Map(flow, mut fields) => {
            fields.push(("restartPolicy", Node::Plain("Always")));
            Some(Node::Seq(false, vec![map(flow, fields)]))
        }
        _ => None,
    });
    let main = prop_oneof![
        container("web", written).prop_map(|web| vec![web]),
        (container("web", written), container("log", written))
            .prop_map(|(web, log)| vec![web, log]),
    ];
    let spec = fields(vec![
        (
            "initContainers",
            prop_oneof![3 => Just(None), 1 => sidecar].boxed(),
        ),
        (
            "containers",
            main.prop_map(|all| Some(Node::Seq(false, all))).boxed(),
        ),
        (
            "restartPolicy",
            one_of(&[None, Some(Node::Plain("Always"))]),
        ),
    ]);
    (metadata, any::<bool>(), spec.prop_shuffle()).prop_map(|(metadata, written, spec)| {
        let metadata =
            (written || !metadata.is_empty()).then(|| ("metadata", map(false, metadata)));
        let template = metadata.into_iter().chain([("spec", map(false, spec))]);
        vec![
            ("apiVersion", Node::Plain("apps/v1")),
            ("kind", Node::Plain("Deployment")),
            ("metadata", map(true, vec![("name", Node::Plain("web"))])),
            (
                "spec",
                map(false, vec![("template", map(false, template.collect()))]),
            ),
        ]
    })
}
