//! Reports documents that are not YAML, or that tools read differently.

use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_tree::source::{Content, Document, SourceFile, is_kustomization};
use meshprobe_yaml::{Ambiguity, Entry, NodeRef, Span, Tree};

use meshprobe_rules::rules::notices::{AMBIGUOUS_YAML, DUPLICATE_KEY, SYNTAX_ERROR};

/// Reports everything that kept a document from being checked.
pub(super) fn of_document(file: &SourceFile, document: &Document) -> Vec<Finding> {
    match &document.content {
        Content::Broken { error, kubernetes } => {
            let span = character_at(&file.text, error.offset);
            let message = error.describe("the document");
            let mut finding = Finding::new(
                SYNTAX_ERROR,
                error_if(*kubernetes),
                label(file, span),
                message,
            );
            finding.document = document.index;
            if error.message.contains("tab") {
                finding.help = Some("indent with spaces; YAML does not allow tabs".into());
            }
            vec![finding]
        }
        Content::Tree(tree) => {
            let duplicates = seams(file, tree).into_iter();
            duplicates
                .filter_map(|seam| duplicate(file, document, tree, &seam))
                .chain(ambiguous(file, document))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Reports the keys that Kubernetes tools read differently.
fn ambiguous(file: &SourceFile, document: &Document) -> Vec<Finding> {
    let finding = |ambiguity: &Ambiguity| {
        let label = label(file, ambiguity.span);
        let message = ambiguity.message.clone();
        let mut finding = Finding::new(AMBIGUOUS_YAML, Severity::Warning, label, message);
        finding.document = document.index;
        finding.help = Some(ambiguity.help.into());
        finding
    };
    document.ambiguities.iter().map(finding).collect()
}

/// Returns the keys of a document that occur more than once, as pairs of the first key and a later one. Those of a second
/// object that follows without a separator are together.
fn seams(file: &SourceFile, tree: &Tree) -> Vec<Vec<(Span, Span)>> {
    let keys = tree.root().into_iter().flat_map(NodeRef::entries);
    let top: HashSet<Span> = keys.map(|entry| entry.key.span()).collect();
    let mut found: Vec<Vec<(Span, Span)>> = Vec::new();
    // The keys of the last seam, if they are those of an object.
    let mut seam: Option<HashSet<&str>> = None;
    for pair in tree.duplicate_keys() {
        let key = pair.1.slice(&file.text);
        let is_top = top.contains(&pair.1);
        let is_next = is_top && seam.as_mut().is_some_and(|keys| keys.insert(key));
        match found.last_mut() {
            Some(last) if is_next => last.push(*pair),
            _ => {
                found.push(vec![*pair]);
                let is_object = is_top && ["apiVersion", "kind"].contains(&key);
                seam = is_object.then(|| HashSet::from([key]));
            }
        }
    }
    found
}

/// Reports a key that occurs twice, or several keys of a second object in the document.
fn duplicate(
    file: &SourceFile,
    document: &Document,
    tree: &Tree,
    seam: &[(Span, Span)],
) -> Option<Finding> {
    let &(first, again) = seam.first()?;
    let key = again.slice(&file.text);
    let readers = match document.patch {
        _ if is_kustomization(&file.path) => "kustomize uses the last value",
        true if key == "$patch" => {
            "kustomize applies the first directive and copies the second into the object, which the API server rejects"
        }
        true => {
            "kustomize uses the first value, or rejects the patch if the object has no such mapping"
        }
        false => match annotations(tree, again) {
            Some(true) => {
                "kubectl uses the last value, kustomize merges both, and the first value of an annotation applies"
            }
            Some(false) => "kubectl and kustomize use the last value",
            None => "kubectl uses the last value, kustomize rejects the file",
        },
    };
    let (message, help) = match seam.len() {
        1 => (
            format!("duplicate key `{key}`: {readers}"),
            "delete one of the two keys",
        ),
        _ => (
            format!(
                "a second object starts at `{key}` without a separator, so its keys are duplicates: {readers}"
            ),
            "insert a line `---` before the object",
        ),
    };
    let mut finding = Finding::new(
        DUPLICATE_KEY,
        Severity::Warning,
        label(file, again),
        message,
    );
    finding.related.push(Label {
        message: "first occurrence".into(),
        ..label(file, first)
    });
    finding.document = document.index;
    finding.help = Some(help.into());
    Some(finding)
}

/// Returns `true` if a key is `metadata.annotations` of an object, `false` if it is the key of an annotation of the
/// object, `None` for all others. Measured with kustomize 5.8.2, which rejects other equal keys.
fn annotations(tree: &Tree, key: Span) -> Option<bool> {
    let metadata = tree.root()?.get("metadata")?;
    let is_block = |entry: &Entry<'_>| entry.key.text() == Some("annotations");
    let mut blocks = metadata.entries().filter(is_block);
    blocks.find_map(|block| match block.key.span() == key {
        true => Some(true),
        false => block.value.span().contains(key).then_some(false),
    })
}

/// Returns the span of the character at `offset`; an empty span at the end of a line.
fn character_at(text: &str, offset: usize) -> Span {
    let next = text.get(offset..).and_then(|rest| rest.chars().next());
    let length = next
        .filter(|c| !matches!(c, '\n' | '\r'))
        .map_or(0, char::len_utf8);
    Span::new(offset, offset + length)
}

/// Returns the severity of what is certainly wrong if the condition holds, and otherwise a note.
pub(super) const fn error_if(condition: bool) -> Severity {
    if condition {
        Severity::Error
    } else {
        Severity::Note
    }
}

/// Returns a place in a file, without a message.
pub(super) fn label(file: &SourceFile, span: Span) -> Label {
    Label {
        path: Arc::clone(&file.path),
        span,
        message: String::new(),
    }
}
