//! The tags of template engines in a text, with their surroundings in YAML.

use memchr::memmem;

/// A tag of a template engine: its start and its end.
pub(super) struct Tag {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether the tag ends on the line where it starts, and its content is one value.
    is_word: bool,
    /// Whether the tag can contain a statement, which does not become a value.
    pub(super) is_block: bool,
}

const fn block(open: &'static str, close: &'static str) -> Tag {
    Tag {
        open,
        close,
        is_word: false,
        is_block: true,
    }
}

const fn word(open: &'static str, close: &'static str) -> Tag {
    Tag {
        open,
        close,
        is_word: true,
        is_block: false,
    }
}

/// The tags, each engine with its source: Go and Jinja templates (`{{`, `{%`, `{#`), ERB and EJS (`<%`), FreeMarker
/// (`<#`, `</#`), Terraform (`%{`, `${`), envsubst and Maven (`${`, `@NAME@`), Azure Pipelines (`#{ … }#`), Octopus
/// Deploy (`#{`), scripts with sed (`%%NAME%%`, `%NAME%`, `<NAME>`), Go templates with other delimiters (`[[`).
const TAGS: [Tag; 15] = [
    block("{{", "}}"),
    block("{%", "%}"),
    block("{#", "#}"),
    block("<%", "%>"),
    block("<#", ">"),
    block("</#", ">"),
    // Lists of lists start in the same way, so the tag alone does not explain an error.
    word("[[", "]]"),
    Tag {
        open: "%{",
        close: "}",
        is_word: true,
        is_block: true,
    },
    word("${", "}"),
    word("#{", "}#"),
    word("#{", "}"),
    word("%%", "%%"),
    word("%", "%"),
    word("<", ">"),
    word("@", "@"),
];

/// Maximum length in bytes of the content of a tag.
const LONGEST: usize = 4_096;

/// What contains a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surroundings {
    /// Nothing: a node starts with the tag.
    Node,
    Plain,
    Quotes(char),
    BlockScalar,
}

/// A tag in a text.
pub(super) struct FoundTag {
    pub(super) tag: &'static Tag,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) surroundings: Surroundings,
}

/// Returns the tags of a text that are not in comments.
pub(super) fn tags(source: &str) -> Vec<FoundTag> {
    let mut scanner = Scanner {
        source,
        ..Scanner::default()
    };
    let mut found = Vec::new();
    while let Some(rest) = source.get(scanner.at..).filter(|rest| !rest.is_empty()) {
        if scanner.skips_comment(rest) {
            continue;
        }
        let Some((tag, length)) = tag_at(source, scanner.at) else {
            scanner.step(rest);
            continue;
        };
        let start = scanner.at;
        let end = start + length;
        found.push(FoundTag {
            tag,
            start,
            end,
            surroundings: scanner.surroundings(),
        });
        scanner.at = end;
    }
    found
}

/// Returns the tag at an offset, and its length with its content.
pub(super) fn tag_at(source: &str, at: usize) -> Option<(&'static Tag, usize)> {
    let rest = source.get(at..)?;
    if !rest.starts_with(['{', '<', '[', '%', '$', '#', '@']) {
        return None;
    }
    TAGS.iter().find_map(|tag| {
        let inner = rest.strip_prefix(tag.open)?;
        let bytes = inner.as_bytes();
        let bytes = bytes.get(..LONGEST.min(bytes.len()))?;
        let end = memmem::find(bytes, tag.close.as_bytes())?;
        let content = inner.get(..end)?;
        let is_tag = !tag.is_word || is_word(tag, content);
        is_tag.then_some((tag, tag.open.len() + end + tag.close.len()))
    })
}

/// Returns whether the content of a tag is the name of a variable, or an expression on one line.
fn is_word(tag: &Tag, content: &str) -> bool {
    match tag.open {
        "@" | "%" | "<" => is_capitals(content),
        // `#{a: b}` is a comment in YAML.
        "%%" | "#{" => !content.is_empty() && !content.contains(char::is_whitespace),
        _ => !content.is_empty() && !content.contains(['\n', '{']),
    }
}

pub(super) fn is_capitals(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.bytes().all(is_part) && text.bytes().filter(u8::is_ascii_uppercase).count() > 1
}

/// Reads YAML that need not be valid, to find out what contains a tag.
#[derive(Default)]
struct Scanner<'t> {
    source: &'t str,
    at: usize,
    /// Start of the line.
    line: usize,
    quote: Option<char>,
    /// Indentation of the parent of a block scalar.
    block: Option<usize>,
}

impl Scanner<'_> {
    fn surroundings(&self) -> Surroundings {
        if let Some(quote) = self.quote {
            return Surroundings::Quotes(quote);
        }
        if self.is_in_block() {
            return Surroundings::BlockScalar;
        }
        match self.is_node_start() {
            true => Surroundings::Node,
            false => Surroundings::Plain,
        }
    }

    fn before(&self) -> &str {
        self.source.get(self.line..self.at).unwrap_or_default()
    }

    /// Returns whether a node, or a token in quotes, can start here.
    fn is_node_start(&self) -> bool {
        let before = self.before().trim_end();
        let is_separated = before.len() < self.before().len();
        before.is_empty()
            || before.ends_with(['[', '{', ','])
            || is_separated && before.ends_with([':', '-', '?'])
    }

    fn is_in_block(&self) -> bool {
        let line = self.source.get(self.line..).unwrap_or_default();
        let line = line.split('\n').next().unwrap_or_default();
        let indentation = line.len() - line.trim_start_matches(' ').len();
        self.block
            .is_some_and(|parent| line.trim().is_empty() || indentation > parent)
    }

    /// Skips a comment. Returns whether one starts here.
    fn skips_comment(&mut self, rest: &str) -> bool {
        let is_comment = rest.starts_with('#')
            && self.quote.is_none()
            && (self.before().is_empty() || self.before().ends_with([' ', '\t']))
            && !self.is_in_block()
            && tag_at(self.source, self.at).is_none_or(|(tag, _)| tag.open != "#{");
        if is_comment {
            self.end_line(rest);
        }
        is_comment
    }

    /// Proceeds behind one character.
    fn step(&mut self, rest: &str) {
        let mut chars = rest.chars();
        let Some(char) = chars.next() else {
            return;
        };
        let next = chars.next();
        match (self.quote, char) {
            (None, '\n') => return self.end_line(rest),
            (_, '\n') => self.line = self.at + 1,
            (Some('"'), '\\') | (Some('\''), '\'') if char == '\\' || next == Some('\'') => {
                self.at += next.map_or(0, char::len_utf8);
            }
            (Some(quote), _) if quote == char => self.quote = None,
            (None, '"' | '\'') if self.is_node_start() && !self.is_in_block() => {
                self.quote = Some(char);
            }
            _ => {}
        }
        self.at += char.len_utf8();
    }

    /// Proceeds to the next line, which may be the first one of a block scalar.
    fn end_line(&mut self, rest: &str) {
        if !self.is_in_block() {
            self.block = block_parent(self.before());
        }
        self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
        self.line = self.at;
    }
}

/// Returns the indentation of the parent of the block scalar that starts at the end of a line.
fn block_parent(line: &str) -> Option<usize> {
    let text = line.trim_end();
    let header = text.rsplit([' ', '\t']).next()?;
    let indicators = header.strip_prefix(['|', '>'])?;
    let before = text.strip_suffix(header)?.trim_end();
    let last = before.rsplit([' ', '\t']).next()?;
    let is_header = indicators
        .bytes()
        .all(|byte| b"+-123456789".contains(&byte))
        && (last.ends_with([':', '-']) || last.starts_with(['!', '&']));
    if !is_header {
        return None;
    }
    let key = before.trim_start_matches([' ', '-']);
    let dashes = before.strip_suffix(key)?;
    match key.is_empty() {
        // The item of a list is the block scalar.
        true => dashes.rfind('-'),
        false => Some(dashes.len()),
    }
}
