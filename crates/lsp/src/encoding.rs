//! Positions of the protocol in the encoding that client and server have agreed on, and `file:` URIs.

use std::path::{Path, PathBuf};

use gen_lsp_types::{Position, PositionEncodingKind, Range, Uri};
use memchr::memchr2_iter;
use meshprobe_yaml::Span;
use percent_encoding::{percent_decode_str, percent_encode};

use meshprobe_report::URI_PATH;

/// What the character of a position counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// Code units of UTF-16, which every client supports.
    #[default]
    Utf16,
    /// Code points.
    Utf32,
}

impl Encoding {
    /// Selects the first of the encodings that the client prefers; UTF-16 if it names none.
    pub(super) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Self {
        let known = offered
            .unwrap_or_default()
            .iter()
            .find_map(|kind| match kind {
                PositionEncodingKind::UTF8 => Some(Self::Utf8),
                PositionEncodingKind::UTF16 => Some(Self::Utf16),
                PositionEncodingKind::UTF32 => Some(Self::Utf32),
                PositionEncodingKind::Custom(_) => None,
            });
        known.unwrap_or_default()
    }

    /// Returns the name of the encoding in the protocol.
    pub(super) const fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    const fn units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// The lines of a text as the protocol defines them: `\n`, `\r\n` and `\r` end a line.
#[derive(Clone, Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'t> Lines<'t> {
    /// Indexes the lines of a text.
    pub(super) fn new(text: &'t str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for at in memchr2_iter(b'\n', b'\r', bytes) {
            // The `\n` of `\r\n` ends the line.
            if bytes.get(at) == Some(&b'\n') || bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        Self {
            text,
            starts,
            encoding,
        }
    }

    /// Returns the position of the byte at `offset`; an offset after the end gives the last position. The byte order mark
    /// at the start of a file has no width, because editors do not show it.
    pub(super) fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset).max(1) - 1;
        let before = self.text.get(self.content_start(line)..offset);
        let character = before
            .unwrap_or_default()
            .chars()
            .map(|character| self.encoding.units(character))
            .sum::<usize>();
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(character).unwrap_or(u32::MAX),
        }
    }

    /// Returns the range of a span.
    pub(super) fn range(&self, span: Span) -> Range {
        Range {
            start: self.position(span.start),
            end: self.position(span.end),
        }
    }

    /// Returns the offset of a position. A position after the end of its line is the end of the line, and a position
    /// after the last line is the end of the text.
    pub(super) fn offset(&self, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        if line >= self.starts.len() {
            return self.text.len();
        }
        let start = self.content_start(line);
        let end = self
            .starts
            .get(line + 1)
            .copied()
            .unwrap_or(self.text.len());
        let content = self.text.get(start..end).unwrap_or_default();
        let content = content.trim_end_matches(['\n', '\r']);
        let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
        for (at, character) in content.char_indices() {
            let units = self.encoding.units(character);
            if left < units {
                return start + at;
            }
            left -= units;
        }
        start + content.len()
    }

    /// Returns the span of a range; `None` if it ends before it starts.
    pub(super) fn span(&self, range: Range) -> Option<Span> {
        let span = Span::new(self.offset(range.start), self.offset(range.end));
        (span.start <= span.end).then_some(span)
    }

    fn content_start(&self, line: usize) -> usize {
        let start = self.starts.get(line).copied().unwrap_or(self.text.len());
        if start == 0 && self.text.starts_with('\u{feff}') {
            return '\u{feff}'.len_utf8();
        }
        start
    }
}

/// Returns the path of a `file:` URI; `None` for other URIs, and for files on other hosts.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.0.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    native_path(percent_decode_str(path).collect())
}

/// Returns the `file:` URI of an absolute path.
pub(super) fn uri_of(path: &Path) -> Uri {
    let mut uri = String::from("file://");
    let bytes = slashed(path);
    if !bytes.starts_with(b"/") {
        uri.push('/');
    }
    uri.extend(percent_encode(&bytes, URI_PATH));
    Uri(uri)
}

#[cfg(unix)]
fn native_path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    let is_path = !bytes.contains(&0);
    is_path.then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(unix)]
fn slashed(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes().to_vec()
}

/// Returns the path after the first slash: `/C:/folder` is `C:\folder`.
#[cfg(not(unix))]
fn native_path(bytes: Vec<u8>) -> Option<PathBuf> {
    let text = String::from_utf8(bytes).ok()?;
    let path = text.strip_prefix('/').filter(|path| path.contains(':'))?;
    Some(PathBuf::from(path.replace('/', "\\")))
}

#[cfg(not(unix))]
fn slashed(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_converted_in_every_encoding() {
        let text = "a\r\nü𝄞x\rlast\n";
        for (encoding, width) in [
            (Encoding::Utf8, 6),
            (Encoding::Utf16, 3),
            (Encoding::Utf32, 2),
        ] {
            let lines = Lines::new(text, encoding);
            let at = text.find('x').unwrap();
            let position = lines.position(at);
            assert_eq!(
                (position.line, position.character),
                (1, width),
                "{encoding:?}"
            );
            for (offset, _) in text.char_indices().filter(|(_, c)| !"\r\n".contains(*c)) {
                assert_eq!(lines.offset(lines.position(offset)), offset);
            }
            assert_eq!(
                lines.position(text.len()),
                Position {
                    line: 3,
                    character: 0
                }
            );
        }
    }

    #[test]
    fn positions_outside_of_the_text_are_moved_into_it() {
        let lines = Lines::new("ab\r\n𝄞", Encoding::Utf16);
        let offset = |line, character| lines.offset(Position { line, character });
        assert_eq!(offset(0, 99), 2);
        assert_eq!(offset(9, 0), 8);
        // In the middle of a surrogate pair.
        assert_eq!(offset(1, 1), 4);
        assert_eq!(offset(1, u32::MAX), 8);
    }

    #[test]
    fn a_byte_order_mark_has_no_width() {
        let lines = Lines::new("\u{feff}a: b", Encoding::Utf8);
        assert_eq!(lines.position(3).character, 0);
        assert_eq!(
            lines.offset(Position {
                line: 0,
                character: 1
            }),
            4
        );
    }

    #[cfg(unix)]
    #[test]
    fn paths_survive_the_conversion() {
        for path in ["/a/b.yaml", "/a b/%41/ü#?.yaml", "/"] {
            let uri = uri_of(Path::new(path));
            assert!(uri.0.is_ascii());
            assert_eq!(path_of(&uri).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(
            path_of(&"file:///a%20b/c%3a%zz".into()).as_deref(),
            Some(Path::new("/a b/c:%zz"))
        );
    }

    #[cfg(unix)]
    #[test]
    fn only_local_files_have_a_path() {
        for uri in [
            "untitled:Untitled-1",
            "file://host/a",
            "git:/a",
            "file:///a%00",
        ] {
            assert_eq!(path_of(&uri.into()), None, "{uri}");
        }
    }
}
