//! The configuration of a call: the functionConfig of a list, or the file of a legacy plugin.

use std::sync::Arc;

use crate::engine::check_ids;
use crate::mesh::Version;
use crate::settings::{self, Layer, Mesh, MeshKind, Problem};
use crate::yaml::{self, LineIndex, NodeRef, Span};

/// Reads the configuration.
pub(super) fn layer(config: NodeRef<'_>, known_rules: &[&str]) -> Result<Layer, Vec<Problem>> {
    let mut layer = settings::read(config, known_rules, &check_ids())?;
    if let Some(message) = no_release(&layer) {
        let span = config.span();
        return Err(vec![Problem { span, message }]);
    }
    for ignore in &mut layer.ignore {
        ignore.file = "functionConfig".into();
    }
    let ignores = |ignore: &settings::Ignore| !ignore.scope.paths.is_empty();
    let name = if !layer.scopes.is_empty() {
        "scopes"
    } else if layer.ignore.iter().any(ignores) {
        "ignore"
    } else {
        return Ok(layer);
    };
    // The items all stand in one stream: no glob could tell them apart.
    let scopes = config.get("spec").and_then(|spec| spec.entry(name));
    let span = scopes.map_or_else(|| config.span(), |entry| entry.key.span());
    let what = if name == "ignore" {
        "a `path` of `ignore`"
    } else {
        "`scopes`"
    };
    let message = format!("{what} is for the configuration file: items of a function have no path");
    Err(vec![Problem { span, message }])
}

/// Refuses a release of Istio that cannot be, as the command line does.
fn no_release(layer: &Layer) -> Option<String> {
    let (first, last) = (Version::FIRST_ISTIO, Version::LAST_ISTIO);
    let about_istio = matches!(
        layer.mesh.unwrap_or_default(),
        MeshKind::Auto | MeshKind::Ambient | MeshKind::One(Mesh::Istio)
    );
    let version = layer
        .mesh_version
        .filter(|version| about_istio && version.major != last.major)?;
    Some(format!(
        "`mesh.version`: `{version}` is no release of Istio: {first} to {last} are known"
    ))
}

/// Reads the configuration from the text of the file `name`.
pub(super) fn layer_of_file(
    name: &str,
    bytes: &[u8],
    known_rules: &[&str],
) -> Result<Layer, Vec<String>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(vec![format!("{name} is not UTF-8")]);
    };
    let text: Arc<str> = text.into();
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len()))
        .map_err(|error| vec![at(name, &text, error.offset, &error.message)])?;
    let Some(root) = tree.as_ref().and_then(|tree| tree.root()) else {
        return Ok(Layer::default());
    };
    let told = |problem: &Problem| at(name, &text, problem.span.start, &problem.message);
    layer(root, known_rules).map_err(|problems| problems.iter().map(told).collect::<Vec<_>>())
}

/// Returns a message with its place.
pub(super) fn at(name: &str, text: &Arc<str>, offset: usize, message: &str) -> String {
    let place = LineIndex::new(text).position(text, offset);
    format!("{name}:{}:{}: {message}", place.line, place.column)
}
