//! Compares decisions about injection and mutual TLS with those of Istio's own code, row by row:
//! `fixtures/istio/README.md`.

use std::collections::BTreeMap;

use meshprobe::mesh::istio::injection::{ControlPlane, InjectionInput, inject_required, webhook};
use meshprobe::mesh::istio::mtls::{MtlsMode, Scopes};

type Row = BTreeMap<String, String>;

fn rows(name: &str) -> Vec<Row> {
    let path = format!("{}/fixtures/istio/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let cells = line.split(',').map(str::to_owned);
            heads.iter().map(ToString::to_string).zip(cells).collect()
        })
        .collect()
}

fn cell<'a>(row: &'a Row, name: &str) -> &'a str {
    row.get(name).unwrap_or_else(|| panic!("no column {name}"))
}

fn optional_cell<'a>(row: &'a Row, name: &str) -> Option<&'a str> {
    Some(cell(row, name)).filter(|&text| text != "-")
}

fn plane(install: &str) -> ControlPlane {
    let canary = |names: &[&str]| ControlPlane {
        names: names.iter().map(ToString::to_string).collect(),
        is_default: false,
        ..ControlPlane::default()
    };
    match install {
        "default" => ControlPlane::default(),
        "default+auto" => ControlPlane {
            namespaces_by_default: true,
            ..ControlPlane::default()
        },
        "default+policy-off" => ControlPlane {
            policy_enabled: false,
            ..ControlPlane::default()
        },
        "rev-canary" => canary(&["canary"]),
        "rev-canary+tag-prod" => canary(&["canary", "prod"]),
        other => panic!("unknown installation {other}"),
    }
}

#[test]
fn injection_agrees_with_the_webhooks_of_istio() {
    let rows = rows("vectors-injection.csv");
    assert_eq!(rows.len(), 3840);
    let mut injected = 0;
    for row in &rows {
        let plane = plane(cell(row, "install"));
        let input = InjectionInput {
            namespace: "shop",
            namespace_injection: optional_cell(row, "ns_istio_injection"),
            namespace_revision: optional_cell(row, "ns_istio_io_rev"),
            label: optional_cell(row, "pod_label_inject"),
            annotation: optional_cell(row, "pod_annotation_inject"),
            revision: optional_cell(row, "pod_label_rev"),
            host_network: false,
        };
        let hit = webhook(&plane, &input);
        // The column names webhooks as `<configuration>/<webhook>`.
        let expected = cell(row, "webhook").split('/').nth(1);
        assert_eq!(hit.map(|hit| hit.name()), expected, "{row:?}");
        let got = hit.is_some() && inject_required(plane.policy_enabled, &input, None);
        assert_eq!(got.to_string(), cell(row, "injected"), "{row:?}");
        injected += usize::from(got);
    }
    assert!(
        injected > 500,
        "only {injected} rows are injected: the vectors prove too little"
    );
}

#[test]
fn mtls_agrees_with_the_policy_applier_of_istio() {
    let rows = rows("vectors-peerauth.csv");
    assert_eq!(rows.len(), 525);
    for row in &rows {
        let mode = |name| optional_cell(row, name).and_then(MtlsMode::parse);
        let others = Scopes {
            mesh: mode("mesh"),
            namespace: mode("namespace"),
            workload: mode("workload"),
            port: None,
        };
        let has_workload_policy = optional_cell(row, "workload").is_some();
        let port = mode("port8080").filter(|_| has_workload_policy);
        let of_port = Scopes { port, ..others };
        let got = (
            others.effective().0.as_str(),
            of_port.effective().0.as_str(),
        );
        let expected = (
            cell(row, "effective_other_ports"),
            cell(row, "effective_8080"),
        );
        assert_eq!(got, expected, "{row:?}");
    }
}
