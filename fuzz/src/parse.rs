//! Any bytes, read as a file: every byte belongs to one document, in order, and every node has its exact
//! position.

use std::path::PathBuf;
use std::sync::Arc;

use meshprobe::engine;
use meshprobe::source::{Content, Input, Request, SourceFile};
use meshprobe::yaml::{self, Kind, NodeRef, Span, Tree};

use super::input::LONGEST;

/// Runs the target with one input.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST {
        return;
    }
    let file = file(data);
    let text = &*file.text;
    assert!(
        data.starts_with(text.as_bytes()),
        "the text differs from the bytes"
    );
    assert!(
        file.fault.is_some() || text.len() == data.len(),
        "bytes are missing silently"
    );
    let mut at = 0;
    for (index, document) in file.documents.iter().enumerate() {
        let segment = document.segment;
        assert_eq!(document.index, index);
        assert_eq!(segment.start, at, "documents do not follow each other");
        assert!(segment.end >= at && text.is_char_boundary(segment.end));
        at = segment.end;
        if let Content::Tree(tree) | Content::Plain(tree) = &document.content {
            assert_eq!(tree.segment(), segment);
        }
        document_at(&file.text, segment);
    }
    assert!(
        file.documents.is_empty() && file.fault.is_some() || at == text.len(),
        "the documents do not cover the file"
    );
    document_at(&file.text, Span::new(0, text.len()));
}

/// Reads the bytes as the program does, as UTF-8 text or as a file with other bytes.
fn file(data: &[u8]) -> SourceFile {
    if let Ok(text) = std::str::from_utf8(data) {
        return SourceFile::new("x.yaml".into(), text.into());
    }
    let set = engine::load(&Request {
        targets: vec![Input::Bytes {
            name: "x.yaml".into(),
            disk_path: None,
            bytes: data.into(),
        }],
        working_directory: PathBuf::from("/nowhere"),
        ..Request::default()
    });
    let mut files = set.files;
    assert_eq!(files.len(), 1);
    files.remove(0)
}

/// Checks one document. The same text in a separate file must have the same reading; there a comment may touch the
/// separator only behind another line.
fn document_at(text: &Arc<str>, segment: Span) {
    let here = yaml::parse(text, segment);
    if let Some(ordinary) = yaml::parse_fast(text, segment) {
        let fully = yaml::parse_fully(text, segment);
        assert_eq!(Ok(Some(ordinary)), fully, "the two parsers differ");
    }
    if let Err(error) = &here {
        assert!(
            (segment.start..=segment.end).contains(&error.offset),
            "the error is outside of the document"
        );
        assert!(!error.message.is_empty());
    }
    if let Ok(Some(tree)) = &here {
        tree_within(tree);
        let _ = yaml::from_node::<serde_json::Value>(tree.root().expect("the tree has no root"));
    }
    if segment.start == 0 {
        return;
    }
    let source = segment.slice(text);
    let line = source.lines().next().unwrap_or_default();
    let above = if yaml::is_touching_separator(&text[..segment.start], line) {
        "\n"
    } else {
        ""
    };
    let alone: Arc<str> = format!("{above}{source}").into();
    // A byte order mark before a document is removed in both cases.
    match (
        &here,
        &yaml::parse(&alone, Span::new(above.len(), alone.len())),
    ) {
        (Ok(Some(here)), Ok(Some(alone))) => same(here, alone),
        (Ok(None), Ok(None)) | (Err(_), Err(_)) => {}
        (here, alone) => panic!("in a separate file it is read as {alone:?}, here as {here:?}"),
    }
}

/// Checks that every node is inside its document and its parent, after its preceding siblings.
pub(crate) fn tree_within(tree: &Tree) {
    let root = tree.root().expect("the tree has no root");
    assert!(tree.segment().contains(root.outer_span()), "{root:?}");
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        spans(tree, node);
        if node.kind() == Kind::Alias {
            let target = node.resolved();
            assert!(
                target.kind() != Kind::Alias,
                "an alias does not resolve to a node"
            );
            assert!(target.id() < node.id(), "an alias precedes its anchor");
            continue;
        }
        let mut before = node.span().start;
        for child in children(node) {
            let outer = child.outer_span();
            assert_eq!(child.parent(), Some(node));
            assert!(
                node.outer_span().contains(outer),
                "{child:?} is outside of {node:?}"
            );
            assert!(
                outer.start >= before,
                "{child:?} starts before the end of its sibling"
            );
            before = outer.end;
            stack.push(child);
        }
    }
    for (first, later) in tree.duplicate_keys() {
        assert!(first.start < later.start || first == later);
    }
    let mut before = tree.segment().start;
    for comment in yaml::comments(tree) {
        assert!(comment.start >= before && tree.segment().contains(comment));
        assert!(comment.slice(tree.text()).starts_with('#'));
        before = comment.end;
    }
}

fn children(node: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let entries = node.entries().flat_map(|entry| [entry.key, entry.value]);
    entries.chain(node.items()).collect()
}

fn spans(tree: &Tree, node: NodeRef<'_>) {
    let (text, inner, outer) = (tree.text(), node.span(), node.outer_span());
    assert!(outer.start <= inner.start && inner.start <= inner.end);
    assert!(tree.segment().contains(outer), "{node:?}");
    for at in [outer.start, inner.start, inner.end] {
        assert!(text.is_char_boundary(at), "{node:?} cuts a character");
    }
    for (span, mark) in [(node.anchor_span(), '&'), (node.tag_span(), '!')] {
        let Some(span) = span else { continue };
        assert!(
            outer.contains(span),
            "{node:?} and its {mark} at {span:?} are apart"
        );
        assert!(span.slice(text).starts_with(mark), "{node:?} has no {mark}");
    }
    if let Some(at) = node.indicator() {
        assert!(at <= outer.start, "{node:?} has its indicator at {at}");
    }
}

fn same(here: &Tree, alone: &Tree) {
    let list = |tree: &Tree| {
        let shift = tree.segment().start;
        let mut stack = vec![tree.root().expect("the tree has no root")];
        let mut all = Vec::new();
        while let Some(node) = stack.pop() {
            let span = node.outer_span();
            all.push((
                node.kind(),
                node.style(),
                span.start - shift,
                node.span().start - shift,
                span.end - shift,
                node.text().map(str::to_owned),
                node.indicator().map(|at| at - shift),
            ));
            if node.kind() != Kind::Alias {
                stack.extend(children(node));
            }
        }
        all
    };
    assert_eq!(
        list(here),
        list(alone),
        "in a separate file the document is read differently"
    );
}
