//! The form `annotation`: the prober env as `proxyMetadata` in the annotation `proxy.istio.io/config`.
//!
//! The injection template writes every entry of `proxyMetadata` into the env of the sidecar
//! (measured with 1.10 to 1.31, classic and native sidecars).

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::proxy_config::{ProxyConfig, escape};
use meshprobe_predict::context::proxy_config;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{self as yaml, Change, FieldPath, NodeRef, Style, Tree, Value};

use crate::rewrite::guard::failure::GuardFailure;

/// Returns the change that writes the env into the annotation and keeps its other content.
pub(super) fn set_prober_env(
    pod: &WorkloadPrediction<'_>,
    json: &str,
) -> Result<Change, GuardFailure> {
    let template = &pod.workload.template;
    let route = template.annotation_route(keys::PROXY_CONFIG);
    let Some(entry) = template.annotation(keys::PROXY_CONFIG) else {
        let value = Value::Block(new_text(&escape(json)));
        return Ok(Change::Set { route, value });
    };
    let refusal = |reason: String| {
        let message = format!("cannot extend `{}`: {reason}", keys::PROXY_CONFIG);
        GuardFailure::new(GuardId::PROXY_CONFIG_INVALID, entry.key.span(), message)
    };
    let config = proxy_config(&pod.workload);
    let tree = config.as_ref().and_then(ProxyConfig::tree);
    let text = match (&config, tree) {
        (Some(config), Some(tree)) => {
            merge_into(tree, config.metadata_key(), escape(json)).map_err(refusal)?
        }
        _ => {
            // The annotation contains only comments.
            let kept = entry.value.text().unwrap_or_default().trim_end();
            let line_break = if kept.is_empty() { "" } else { "\n" };
            format!("{kept}{line_break}{}", new_text(&escape(json)))
        }
    };
    let written = ProxyConfig::parse(&text).ok();
    let written = written.filter(|config| config.fault(pod.release.value).is_none());
    if written.and_then(|config| config.probers()) != Some(Ok(json.to_owned())) {
        return Err(refusal(
            "the injector would not read the new entry".to_owned(),
        ));
    }
    let is_block = matches!(entry.value.style(), Style::Literal | Style::Folded);
    let value = if tree.is_none() || is_block || text.contains('\n') {
        Value::Block(text)
    } else {
        Value::Str(text)
    };
    Ok(Change::Set { route, value })
}

/// Returns the text of a new annotation, in the layout that a person would use.
fn new_text(escaped: &str) -> String {
    let quoted = escaped.replace('\'', "''");
    format!("proxyMetadata:\n  {}: '{quoted}'\n", keys::PROBERS_ENV)
}

/// Adds the env to the mapping at `key` of the embedded document and keeps the layout of the document.
fn merge_into(tree: &Tree, key: &str, escaped: String) -> Result<String, String> {
    if !tree.root().is_some_and(NodeRef::is_mapping) {
        return Err("it is not a mapping".to_owned());
    }
    let route = FieldPath::root()
        .child(key.to_owned())
        .child(keys::PROBERS_ENV);
    let change = Change::Set {
        route,
        value: Value::Str(escaped),
    };
    let edits = yaml::apply_embedded(tree, &[change]).map_err(|error| error.reason)?;
    Ok(yaml::splice(tree.text(), &edits))
}
