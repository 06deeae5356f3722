//! The sealed form: the env as `proxyMetadata` in the annotation `proxy.istio.io/config`.
//!
//! The injection template writes every entry of `proxyMetadata` into the env of the sidecar
//! (measured with 1.10 to 1.31, classic and native sidecars).

use crate::context::proxy_config;
use crate::mesh::istio::keys;
use crate::mesh::istio::proxy_config::{ProxyConfig, escape};
use crate::predict::WorkloadPrediction;
use crate::yaml::{self, Change, NodeRef, Route, Style, Tree, Value};

use super::super::guard::Refusal;

/// Writes the env into the annotation, beside what it holds.
pub(super) fn carry(pod: &WorkloadPrediction<'_>, json: &str) -> Result<Change, Refusal> {
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
    let key = config
        .as_ref()
        .map_or("proxyMetadata", ProxyConfig::metadata_key);
    let text = merge_into(tree, key, escaped).map_err(|reason| {
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

/// Adds the env to the mapping at `key` of the embedded document, whose own layout is kept.
fn merge_into(tree: &Tree, key: &str, escaped: String) -> Result<String, String> {
    if !tree.root().is_some_and(NodeRef::is_mapping) {
        return Err("it is not a mapping".to_owned());
    }
    let route = Route::root().child(key.to_owned()).child(keys::PROBERS_ENV);
    let change = Change::Set {
        route,
        value: Value::Str(escaped),
    };
    let edits = yaml::apply_embedded(tree, &[change]).map_err(|error| error.reason)?;
    Ok(yaml::splice(tree.text(), &edits))
}
