//! Annotations and comments in which renderers record the origin of their output.

use std::sync::{Arc, LazyLock};

use memchr::memmem::{self, Finder};
use meshprobe_yaml::{self as yaml, NodeRef, Span};

/// Annotation with the origin of a resource of a kustomize build, which `buildMetadata` enables.
/// Source: kustomize 5.8, `api/resource/origin.go`.
const ORIGIN: &str = "config.kubernetes.io/origin";

/// Annotation with the file from which an item was read, in both spellings.
/// Source: KRM Functions Specification of kustomize.
const PATHS: [&str; 2] = [
    "internal.config.kubernetes.io/path",
    "config.kubernetes.io/path",
];

/// Annotation with the number of the document in that file.
const INDEXES: [&str; 2] = [
    "internal.config.kubernetes.io/index",
    "config.kubernetes.io/index",
];

/// Annotations with the kinds and names of a resource before kustomize changed them, oldest first, separated by commas.
const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";
const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";

/// Start of the comment above every document of `helm template`, before the name of the chart and the file below its
/// folder.
const COMMENT: &str = "# Source: ";

/// Recorded origin. The variant determines the folder to which the path is relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OriginHint {
    /// A file of a kustomization, relative to the folder that was built.
    Resource {
        path: String,
        /// Its original kind and name, if they are known.
        original: Option<(String, String)>,
    },
    /// The kustomization that generates the object.
    Generator { path: String },
    /// A file of another repository.
    Remote { url: String },
    /// A file of a package, and the number of the document.
    Package { path: String, index: Option<usize> },
    /// A file of a chart: the name of the chart, and the path below its folder.
    Template { chart: String, path: String },
}

impl OriginHint {
    /// Returns the name of the file as recorded by the renderer.
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

/// Identity of an object in a build: version, kind, namespace and name.
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

/// Common part of the keys of all annotations.
const DOMAIN: &str = "config.kubernetes.io/";

/// Returns whether a text contains origin annotations or comments. A quick check, because most files are not rendered.
pub(in crate::source) fn may_have_origin(text: &str) -> bool {
    static FINDERS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| [COMMENT, DOMAIN].map(Finder::new));
    FINDERS
        .iter()
        .any(|sign| sign.find(text.as_bytes()).is_some())
}

/// Returns whether a text may record the file shown as `path` as an origin. A quick check: an annotation names a file by any
/// part of its path, a comment by its path below the folder of the chart.
pub(in crate::source) fn may_name_origin(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let contains = |part: &str| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
    // An escape in an annotation may hide the name.
    if contains(DOMAIN) && (contains(name) || contains("\\")) {
        return true;
    }
    let is_named = |comment: &str| {
        let (_, below) = comment.split_once('/').unwrap_or_default();
        let below = below.trim();
        let folder = path.strip_suffix(below);
        below.contains("..") || folder.is_some_and(|f| f.is_empty() || f.ends_with('/'))
    };
    let lines = text.lines().map(str::trim);
    let mut comments = lines.filter_map(|line| line.strip_prefix(COMMENT));
    contains(name) && comments.any(is_named)
}

/// Returns the origin that the annotations of an object record.
pub(super) fn in_object(object: NodeRef<'_>) -> Option<OriginHint> {
    let annotations = object.get("metadata")?.get("annotations")?;
    let first = |keys: &[&str]| {
        keys.iter()
            .filter_map(|key| annotations.get(key)?.text())
            .find(|text| !text.is_empty())
            .map(str::to_owned)
    };
    if let Some(path) = first(&PATHS) {
        let index = first(&INDEXES).and_then(|index| index.parse().ok());
        return Some(OriginHint::Package { path, index });
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

/// Parses the origin annotation of kustomize, whose value is YAML.
fn in_origin(text: &str, original: impl Fn() -> Option<(String, String)>) -> Option<OriginHint> {
    let text: Arc<str> = text.into();
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len())).ok()??;
    let root = tree.root()?;
    let value = |key: &str| root.get(key)?.text().map(str::to_owned);
    if let Some(path) = value("configuredIn") {
        return Some(OriginHint::Generator { path });
    }
    let path = value("path")?;
    Some(match value("repo") {
        Some(repository) => {
            let at = value("ref").map(|name| format!("?ref={name}"));
            let url = format!("{repository}//{path}{}", at.unwrap_or_default());
            OriginHint::Remote { url }
        }
        None => OriginHint::Resource {
            path,
            original: original(),
        },
    })
}

/// Returns the origin that the comments above a document record.
pub(super) fn in_comment(document: &str) -> Option<OriginHint> {
    document
        .lines()
        .map(str::trim)
        .take_while(|line| line.is_empty() || line.starts_with('#') || line.starts_with("---"))
        .filter_map(|line| line.strip_prefix(COMMENT))
        .find_map(template)
}

/// Parses the comment of `helm template`. Returns `None` for other comments, which do not name a file of a chart.
fn template(text: &str) -> Option<OriginHint> {
    let (chart, path) = text.trim().split_once('/')?;
    let mut folders = path.split('/');
    let is_file = folders.any(|part| part == "templates" || part == "crds");
    let is_name = |c: char| !c.is_whitespace() && c != ':';
    (is_file && !chart.is_empty() && text.chars().all(is_name)).then(|| OriginHint::Template {
        chart: chart.to_owned(),
        path: path.to_owned(),
    })
}
