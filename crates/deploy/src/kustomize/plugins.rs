//! The configurations of the plugins that a kustomization runs.
//!
//! Source: kustomize 5.8.2, `configureExternalGenerators` and `configureExternalTransformers` in
//! `api/internal/target/kusttarget.go`; kyaml, `fn/runtime/runtimeutil/functiontypes.go`.

use meshprobe_mesh::settings::{API_VERSION, KIND};
use meshprobe_yaml::{NodeRef, Span, Tree, parse_embedded};

use crate::kustomize::node::Node;

/// The annotations that make an object the configuration of a function.
const FUNCTION: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];

/// Options with which kustomize runs plugins and charts.
pub(crate) const HELM: &str = "--enable-helm";
const PLUGINS: &str = "--enable-alpha-plugins";
const EXEC: &str = "--enable-exec";

/// Configurations of one field, one item for each entry; `None` for an entry that cannot be read.
pub(crate) type Configs = Vec<Option<Vec<Node>>>;

/// Returns whether all configurations are those of meshprobe, which adds no objects, and changes only what the checks take
/// into account.
pub(crate) fn are_own(configs: &Configs) -> bool {
    let mut configs = configs.iter();
    configs.all(|entry| entry.as_ref().is_some_and(|all| all.iter().all(is_own)))
}

/// Returns whether an object is a configuration of meshprobe. One with the annotation of a function must name the program:
/// another one could change anything.
fn is_own(config: &Node) -> bool {
    let is_kind =
        config.text_below(&["apiVersion"]) == API_VERSION && config.text_below(&["kind"]) == KIND;
    match function(config) {
        Some(text) => {
            program(text).is_some_and(|name| matches!(&*name, "meshprobe" | "meshprobe-krm"))
        }
        None => is_kind,
    }
}

/// Returns the options that kustomize needs for plugins.
pub(crate) fn options(configs: &Configs) -> impl Iterator<Item = &'static str> {
    let all = || configs.iter().flatten().flatten();
    let is_builtin = |config: &Node| config.text_below(&["apiVersion"]) == "builtin";
    let has_plugin = all().any(|config| !is_builtin(config));
    let runs_program = |config: &Node| {
        function(config).is_some_and(|text| value_in(text, &["exec", "path"]).is_some())
    };
    let has_program = all().any(runs_program);
    [(has_plugin, PLUGINS), (has_program, EXEC)]
        .into_iter()
        .filter_map(|(is_needed, option)| is_needed.then_some(option))
}

/// Returns the text of the annotation of a function.
fn function(config: &Node) -> Option<&str> {
    let annotations = config.get("metadata")?.get("annotations")?;
    FUNCTION.iter().find_map(|key| annotations.get(key)?.text())
}

/// Returns the name of the program that a function runs: of the executable file or the image, without folders and tag.
fn program(function: &str) -> Option<String> {
    let path = value_in(function, &["exec", "path"])
        .or_else(|| value_in(function, &["container", "image"]))?;
    let name = path.rsplit('/').next()?;
    let name = name.split(['@', ':']).next()?;
    Some(name.to_owned())
}

/// Returns the text at the end of `keys` in a YAML document.
fn value_in(text: &str, keys: &[&str]) -> Option<String> {
    let tree = parse_embedded(&text.into(), Span::new(0, text.len())).ok()??;
    let root = Tree::root(&tree)?;
    let found = keys.iter().try_fold(root, |node, key| node.get(key))?;
    NodeRef::text(found).map(str::to_owned)
}

/// Returns whether an entry is a configuration itself and not a path.
pub(crate) fn is_inline(entry: &str) -> bool {
    entry.contains('\n') || entry.trim_start().starts_with('{')
}
