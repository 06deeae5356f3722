//! How the prober env reaches the sidecar: in the `proxy.istio.io/config` annotation (the sealed
//! form), or in the env of an `istio-proxy` container that the manifest holds itself.

use std::collections::BTreeMap;

use crate::context::{proxy_config, proxy_container};
use crate::kube::Container;
use crate::mesh::istio::proxy_config::{ProxyConfig, escape};
use crate::mesh::istio::{keys, prober_json};
use crate::predict::WorkloadPrediction;
use crate::yaml::{self, Change, NodeRef, Route, Style, Tree, Value};

use super::guard::Refusal;

/// Returns the changes that give the sidecar `probers` beside those it has, and that switch the
/// webhook's own rewrite off.
pub(super) fn carry(
    pod: &WorkloadPrediction<'_>,
    probers: BTreeMap<String, String>,
) -> Result<Vec<Change>, Refusal> {
    let probers = merged(pod, probers)?;
    let json = prober_json::object(&probers);
    let template = &pod.workload.template;
    let mut changes = vec![Change::Set {
        route: template.annotation_route(keys::REWRITE_PROBERS),
        value: Value::from("false"),
    }];
    match proxy_container(&pod.workload) {
        Some(proxy) => changes.push(in_container(&proxy, json)),
        None => changes.push(in_annotation(pod, &json)?),
    }
    Ok(changes)
}

/// Existing entries are kept; one that says something else is a conflict.
fn merged(
    pod: &WorkloadPrediction<'_>,
    probers: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(env) = &pod.prober_env else {
        return Ok(probers);
    };
    let mut all = env.probers.clone().unwrap_or_default();
    for (key, json) in probers {
        match all.get(&key) {
            Some(existing) if *existing != json => {
                let said = format!("its {} already holds another {key}", keys::PROBERS_ENV);
                return Err(Refusal::new("prober-env-conflict", env.span, said));
            }
            _ => {
                all.insert(key, json);
            }
        }
    }
    Ok(all)
}

fn in_container(proxy: &Container<'_>, json: String) -> Change {
    let value = Value::Str(json);
    match proxy.env(keys::PROBERS_ENV) {
        Some(variable) => Change::Set {
            route: variable.route.child("value"),
            value,
        },
        None => Change::Push {
            route: proxy.route.child("env"),
            value: Value::Map(vec![
                ("name".to_owned(), Value::from(keys::PROBERS_ENV)),
                ("value".to_owned(), value),
            ]),
        },
    }
}

fn in_annotation(pod: &WorkloadPrediction<'_>, json: &str) -> Result<Change, Refusal> {
    let template = &pod.workload.template;
    let route = template.annotation_route(keys::PROXY_CONFIG);
    let escaped = escape(json);
    let config = proxy_config(&pod.workload);
    let entry = template.annotation(keys::PROXY_CONFIG);
    let (Some(entry), Some(tree)) = (entry, config.as_ref().and_then(ProxyConfig::tree)) else {
        // What there is holds nothing but comments.
        let kept = entry
            .and_then(|entry| entry.value.text())
            .unwrap_or_default()
            .trim_end();
        let break_after = if kept.is_empty() { "" } else { "\n" };
        let text = format!("{kept}{break_after}{}", fresh(&escaped));
        return Ok(Change::Set {
            route,
            value: Value::Block(text),
        });
    };
    let text = merge_into(tree, escaped).map_err(|reason| {
        let said = format!("`{}` can't be extended: {reason}", keys::PROXY_CONFIG);
        Refusal::new("proxy-config-invalid", entry.key.span(), said)
    })?;
    let is_block = matches!(entry.value.style(), Style::Literal | Style::Folded);
    let value = if is_block || text.contains('\n') {
        Value::Block(text)
    } else {
        Value::Str(text)
    };
    Ok(Change::Set { route, value })
}

/// The annotation from scratch, as a person would write it.
fn fresh(escaped: &str) -> String {
    let quoted = escaped.replace('\'', "''");
    format!("proxyMetadata:\n  {}: '{quoted}'\n", keys::PROBERS_ENV)
}

/// Adds the env to the embedded document, whose own layout is kept.
fn merge_into(tree: &Tree, escaped: String) -> Result<String, String> {
    if !tree.root().is_some_and(NodeRef::is_mapping) {
        return Err("it is not a mapping".to_owned());
    }
    let route = Route::keys(&["proxyMetadata", keys::PROBERS_ENV]);
    let change = Change::Set {
        route,
        value: Value::Str(escaped),
    };
    let edits = yaml::apply(tree, &[change]).map_err(|error| error.reason)?;
    Ok(yaml::splice(tree.text(), &edits))
}
