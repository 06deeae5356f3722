//! Parses the configuration of a call: the functionConfig of a list, or the file of a legacy plugin.

use std::sync::Arc;

use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::settings::{self, ConfigError, Layer};
use meshprobe_yaml::{self as yaml, LineIndex, NodeRef, Span};

use meshprobe_engine::engine::rule_names;

/// Parses the configuration.
///
/// # Errors
/// All errors of the configuration, including settings that only the configuration file may contain.
pub(super) fn layer(config: NodeRef<'_>) -> Result<Layer, Vec<ConfigError>> {
    let mut layer = settings::parse(config, rule_names())?;
    if let Some(message) = invalid_release(&layer) {
        let span = config.span();
        return Err(vec![ConfigError { span, message }]);
    }
    for ignore in &mut layer.ignore {
        ignore.scope.file = "functionConfig".into();
    }
    // All items come from one stream, so a glob cannot distinguish them.
    let no_path = "items of a function have no path";
    let has_path = |ignore: &settings::Ignore| !ignore.scope.paths.is_empty();
    let file_only = [
        (!layer.scopes.is_empty(), "scopes", "`scopes`", no_path),
        (
            layer.ignore.iter().any(has_path),
            "ignore",
            "a `path` of `ignore`",
            no_path,
        ),
        (layer.root.is_some(), "root", "`root`", no_path),
        (
            layer.renders_charts.is_some(),
            "helm",
            "`helm`",
            "a function does not run programs",
        ),
        (layer.baseline.is_some(), "baseline", "`baseline`", no_path),
    ];
    let Some((_, name, subject, why)) = file_only.into_iter().find(|(is_set, ..)| *is_set) else {
        return Ok(layer);
    };
    let entry = config.get("spec").and_then(|spec| spec.entry(name));
    let span = entry.map_or_else(|| config.span(), |entry| entry.key.span());
    let message = format!("{subject} is only allowed in the configuration file: {why}");
    Err(vec![ConfigError { span, message }])
}

/// Returns the error for a release that does not belong to Istio 1. The command line rejects such a release, too.
fn invalid_release(layer: &Layer) -> Option<String> {
    let (first, last) = (Version::FIRST_ISTIO, Version::LAST_ISTIO);
    let about_istio = layer.mesh.unwrap_or_default().may_be_istio();
    let version = layer
        .mesh_version
        .filter(|version| about_istio && version.major != last.major)?;
    Some(format!(
        "`mesh.version`: `{version}` is not a release of Istio; expected {first} to {last}"
    ))
}

/// Parses the configuration from the content of the file `name`.
///
/// # Errors
/// One message with its position per error.
pub(super) fn layer_of_file(name: &str, bytes: &[u8]) -> Result<Layer, Vec<String>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(vec![format!("`{name}` is not UTF-8")]);
    };
    let text: Arc<str> = text.into();
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len()))
        .map_err(|error| vec![at(name, &text, error.offset, &error.message)])?;
    let Some(root) = tree.as_ref().and_then(|tree| tree.root()) else {
        return Ok(Layer::default());
    };
    let message = |problem: &ConfigError| at(name, &text, problem.span.start, &problem.message);
    layer(root).map_err(|problems| problems.iter().map(message).collect::<Vec<_>>())
}

/// Returns a message with its position.
pub(super) fn at(name: &str, text: &Arc<str>, offset: usize, message: &str) -> String {
    let place = LineIndex::new(text).position(text, offset);
    format!("{name}:{}:{}: {message}", place.line, place.column)
}
