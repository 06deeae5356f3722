//! What renderers leave in their output about where it comes from.

use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;

use crate::yaml::{self, NodeRef, Span};

/// Where a resource of a kustomize build comes from, where `buildMetadata` asks for it.
/// Source: kustomize 5.8, `api/resource/origin.go`.
const ORIGIN: &str = "config.kubernetes.io/origin";

/// The file that an item was read from, in the two spellings in use.
/// Source: KRM Functions Specification of kustomize.
const PATHS: [&str; 2] = [
    "internal.config.kubernetes.io/path",
    "config.kubernetes.io/path",
];

/// The number of the document in that file.
const INDEXES: [&str; 2] = [
    "internal.config.kubernetes.io/index",
    "config.kubernetes.io/index",
];

/// What a resource was called before kustomize renamed it, oldest first, separated by commas.
const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";
const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";

/// Above every document of `helm template`: the name of the chart, and the file below its folder.
const COMMENT: &str = "# Source: ";

/// Who says it, and so what the path is relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A file of a kustomization, relative to the folder that was built.
    Resource {
        path: String,
        /// What it was called there, where that is known.
        original: Option<(String, String)>,
    },
    /// The kustomization that generates it.
    Generator { path: String },
    /// A file of a repository somewhere else.
    Remote { url: String },
    /// A file of a package, and the number of the document.
    Package { path: String, index: Option<usize> },
    /// A file of a chart: the name of the chart, and the path below its folder.
    Template { chart: String, path: String },
}

impl Said {
    /// The name of the file in the words of the renderer.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Resource { path, .. } | Self::Generator { path } | Self::Package { path, .. } => {
                path.clone()
            }
            Self::Remote { url } => url.clone(),
            Self::Template { chart, path } => format!("{chart}/{path}"),
        }
    }

    pub(super) const fn is_template(&self) -> bool {
        matches!(self, Self::Template { .. })
    }
}

/// What tells an object from others of a build: version, kind, namespace and name.
pub(super) type Name = [String; 4];

pub(super) fn name_of(object: NodeRef<'_>) -> Name {
    let text = |node: Option<NodeRef<'_>>, key: &str| {
        let value = node.and_then(|node| node.get(key));
        value.and_then(NodeRef::text).unwrap_or_default().to_owned()
    };
    let metadata = object.get("metadata");
    [
        text(Some(object), "apiVersion"),
        text(Some(object), "kind"),
        text(metadata, "namespace"),
        text(metadata, "name"),
    ]
}

/// What the keys of all annotations hold.
const DOMAIN: &str = "config.kubernetes.io/";

/// A look at the text: most files are not rendered.
pub(super) fn shows_signs(text: &str) -> bool {
    static FINDERS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| [COMMENT, DOMAIN].map(Finder::new));
    FINDERS
        .iter()
        .any(|sign| sign.find(text.as_bytes()).is_some())
}

/// What the annotations of an object say.
pub(super) fn in_object(object: NodeRef<'_>) -> Option<Said> {
    let annotations = object.get("metadata")?.get("annotations")?;
    let first = |keys: &[&str]| {
        let mut all = keys.iter().filter_map(|key| annotations.get(key)?.text());
        all.find(|text| !text.is_empty()).map(str::to_owned)
    };
    if let Some(path) = first(&PATHS) {
        let index = first(&INDEXES).and_then(|index| index.parse().ok());
        return Some(Said::Package { path, index });
    }
    let original = || {
        let oldest = |key: &str| {
            let all = annotations.get(key)?.text()?;
            all.split(',').next().map(str::to_owned)
        };
        Some((oldest(PREVIOUS_KINDS)?, oldest(PREVIOUS_NAMES)?))
    };
    in_origin(annotations.get(ORIGIN)?.text()?, original)
}

/// The origin is itself YAML.
fn in_origin(text: &str, original: impl Fn() -> Option<(String, String)>) -> Option<Said> {
    let text: Arc<str> = text.into();
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len())).ok()??;
    let root = tree.root()?;
    let value = |key: &str| root.get(key)?.text().map(str::to_owned);
    if let Some(path) = value("configuredIn") {
        return Some(Said::Generator { path });
    }
    let path = value("path")?;
    Some(match value("repo") {
        Some(repository) => {
            let at = value("ref").map(|name| format!("?ref={name}"));
            let url = format!("{repository}//{path}{}", at.unwrap_or_default());
            Said::Remote { url }
        }
        None => Said::Resource {
            path,
            original: original(),
        },
    })
}

/// What the comments above a document say.
pub(super) fn in_comment(document: &str) -> Option<Said> {
    let head = document
        .lines()
        .map(str::trim)
        .take_while(|line| line.is_empty() || line.starts_with('#') || line.starts_with("---"));
    let mut named = head.filter_map(|line| line.strip_prefix(COMMENT));
    named.find_map(template)
}

/// A remark of a person that starts alike names no file of a chart.
fn template(text: &str) -> Option<Said> {
    let (chart, path) = text.trim().split_once('/')?;
    let mut folders = path.split('/');
    let is_file = folders.any(|part| part == "templates" || part == "crds");
    let is_name = |c: char| !c.is_whitespace() && c != ':';
    (is_file && !chart.is_empty() && text.chars().all(is_name)).then(|| Said::Template {
        chart: chart.to_owned(),
        path: path.to_owned(),
    })
}
