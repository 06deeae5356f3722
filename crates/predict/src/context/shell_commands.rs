//! Splits shell scripts, makefiles and pages into simple commands, and expands their variables.
//!
//! Reads what is common to these languages, without running anything: words, quotes, comments, continued lines, and
//! variables that are assigned a text somewhere in the file.

use hashbrown::HashMap;

/// The most variables in variables, and the most values of one word.
const DEPTH: usize = 8;
const VALUES: usize = 64;

/// A command between two separators.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::context) struct ShellCommand {
    /// The offset of its first word.
    pub(in crate::context) at: usize,
    /// The words without quotes, their variables not expanded.
    pub(in crate::context) words: Vec<String>,
}

/// Splits a text into commands. In pages, `#` does not begin a comment at the start of a command.
pub(in crate::context) fn commands(text: &str, is_page: bool) -> Vec<ShellCommand> {
    let mut reader = Reader {
        text,
        at: 0,
        start: 0,
        word: None,
        words: Vec::new(),
        found: Vec::new(),
    };
    reader.read(is_page);
    reader.found
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    start: usize,
    word: Option<String>,
    words: Vec<String>,
    found: Vec<ShellCommand>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn read(&mut self, is_page: bool) {
        while let Some(next) = self.rest().chars().next() {
            let rest = self.rest();
            if let Some(length) = reference(rest).map(|found| found.length) {
                self.push(rest.get(..length).unwrap_or_default());
                self.at += length;
                continue;
            }
            match next {
                '\\' => self.escape(),
                '\n' | ';' | '|' | '&' | '`' | ')' => {
                    self.end_command();
                    self.at += 1;
                }
                '(' => self.parenthesis(),
                '#' if self.word.is_none() && !(is_page && self.words.is_empty()) => {
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                '\'' | '"' => self.quote(next),
                _ if next.is_whitespace() => {
                    self.end_word();
                    self.at += next.len_utf8();
                }
                _ => {
                    let length = next.len_utf8();
                    self.push(rest.get(..length).unwrap_or_default());
                    self.at += length;
                }
            }
        }
        self.end_command();
    }

    /// Reads a backslash. At the end of a line, it continues the command.
    fn escape(&mut self) {
        let rest = self.rest().strip_prefix('\\').unwrap_or_default();
        let line_break = ["\n", "\r\n"].into_iter().find(|end| rest.starts_with(end));
        let length = match line_break {
            Some(end) => {
                self.end_word();
                end.len()
            }
            None => {
                let length = rest.chars().next().map_or(0, char::len_utf8);
                self.push(rest.get(..length).unwrap_or_default());
                length
            }
        };
        self.at += 1 + length;
    }

    /// Reads a list of words, or the start of a group of commands.
    fn parenthesis(&mut self) {
        self.at += 1;
        let is_list = self.word.as_ref().is_some_and(|word| word.ends_with('='));
        let end = self.rest().find(')').filter(|_| is_list);
        let Some(inside) = end.and_then(|end| self.rest().get(..end)) else {
            return self.end_command();
        };
        let words = commands(inside, false).into_iter();
        let words: Vec<String> = words.flat_map(|command| command.words).collect();
        self.push(&words.join(" "));
        self.at += inside.len() + 1;
    }

    /// Reads a quoted text. A quote that does not end on its line is an apostrophe, unless a patch follows.
    fn quote(&mut self, quote: char) {
        self.at += 1;
        let rest = self.rest();
        let end = rest.find(quote).filter(|end| {
            let inside = rest.get(..*end).unwrap_or_default();
            !inside.contains('\n') || inside.starts_with(['{', '['])
        });
        let Some(mut end) = end else {
            return;
        };
        // An escaped quote is part of the text.
        while quote == '"' && rest.get(..end).is_some_and(|inside| inside.ends_with('\\')) {
            let next = rest.get(end + 1..).and_then(|behind| behind.find(quote));
            let Some(next) = next else { break };
            end += 1 + next;
        }
        let inside = rest.get(..end).unwrap_or_default();
        match quote {
            '"' => self.push(&inside.replace("\\\"", "\"")),
            _ => self.push(inside),
        }
        self.at += end + 1;
    }

    fn push(&mut self, text: &str) {
        if self.word.is_none() && self.words.is_empty() {
            self.start = self.at;
        }
        self.word.get_or_insert_with(String::new).push_str(text);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.found.push(ShellCommand {
                at: self.start,
                words: std::mem::take(&mut self.words),
            });
        }
    }
}

/// Reference to a variable at the start of a text.
struct Reference<'t> {
    length: usize,
    name: &'t str,
    default: Option<&'t str>,
}

/// Returns the variable to which the start of a text refers: `$NAME`, `${NAME}` with any default, `$(NAME)`, and
/// `{{ NAME }}` of templates. A substituted command is a variable without a name.
fn reference(text: &str) -> Option<Reference<'_>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let template = text.strip_prefix("{{").or_else(|| text.strip_prefix("${{"));
    if let Some((inside, _)) = template.and_then(|inside| inside.split_once("}}")) {
        let before = text.len() - template.unwrap_or_default().len();
        return Some(Reference {
            length: before + inside.len() + 2,
            name: inside.trim().rsplit('.').next().unwrap_or_default(),
            default: None,
        });
    }
    let behind = text.strip_prefix('$')?;
    // A makefile doubles the sign.
    let inner = behind.strip_prefix('$').unwrap_or(behind);
    let before = text.len() - inner.len();
    for (open, close) in [('{', '}'), ('(', ')')] {
        let Some(inside) = inner.strip_prefix(open) else {
            continue;
        };
        let inside = inside.get(..inside.find(close)?)?;
        let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
        let (name, rest) = inside.split_at_checked(end)?;
        let default = [":-", ":=", "-"]
            .iter()
            .find_map(|sign| rest.strip_prefix(sign));
        let is_plain = rest.is_empty() || default.is_some() || matches!(rest, "[@]" | "[*]");
        return Some(Reference {
            length: before + inside.len() + 2,
            name: if is_plain { name } else { "" },
            default,
        });
    }
    let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
    let end = match inner.chars().next()? {
        '@' | '*' => 1,
        digit if digit.is_ascii_digit() => 1,
        _ => end,
    };
    (end > 0).then(|| Reference {
        length: before + end,
        name: inner.get(..end).unwrap_or_default(),
        default: None,
    })
}

/// The values of a word.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::context) struct Expansion {
    pub(in crate::context) texts: Vec<String>,
    /// Whether the word may have other values.
    pub(in crate::context) is_open: bool,
}

/// The texts that variables are assigned anywhere in a file.
#[derive(Debug, Default)]
pub(in crate::context) struct Variables {
    values: HashMap<String, Vec<String>>,
}

impl Variables {
    pub(in crate::context) fn add(&mut self, name: &str, value: &str) {
        let values = self.values.entry_ref(name).or_default();
        values.push(value.to_owned());
    }

    /// Adds what a command assigns: `NS=shop`, `NS ?= shop`, `for NS in shop cart`.
    pub(in crate::context) fn add_from(&mut self, command: &ShellCommand) {
        let is_name = |name: &str| {
            let mut bytes = name.bytes();
            !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match command.words.as_slice() {
            [first, name, word, values @ ..] if first == "for" && word == "in" => {
                return values.iter().for_each(|value| self.add(name, value));
            }
            [name, sign, values @ ..] if is_name(name) && is_assignment(sign) => {
                return self.add(name, &values.join(" "));
            }
            _ => {}
        }
        for word in &command.words {
            if let Some((name, value)) = word.split_once('=') {
                let name = name.trim_end_matches(['?', ':', '+']);
                if is_name(name) {
                    self.add(name, value);
                }
            } else if !is_name(word) {
                // Not a prefix such as `export` or `local`.
                return;
            }
        }
    }

    /// Returns the values of a word.
    pub(in crate::context) fn expand(&self, word: &str) -> Expansion {
        let mut found = Expansion::default();
        self.collect(word, DEPTH, &mut found);
        found
    }

    fn collect(&self, word: &str, depth: usize, found: &mut Expansion) {
        let mut starts = word.match_indices(['$', '{']).map(|(at, _)| at);
        let first = starts.find_map(|at| Some((at, reference(word.get(at..)?)?)));
        let Some((at, reference)) = first else {
            found.texts.push(word.to_owned());
            return;
        };
        let values = self.values.get(reference.name).into_iter().flatten();
        let values: Vec<&str> = values.map(String::as_str).collect();
        let values = match reference.default {
            Some(default) if values.is_empty() => vec![default],
            _ => values,
        };
        if values.is_empty() || depth == 0 || found.texts.len() >= VALUES {
            found.is_open = true;
            return;
        }
        let before = word.get(..at).unwrap_or_default();
        let behind = word.get(at + reference.length..).unwrap_or_default();
        for value in values {
            let is_whole = before.is_empty() && behind.is_empty();
            let texts: Vec<String> = match is_whole {
                // A list of words.
                true => {
                    let words = commands(value, false).into_iter();
                    words.flat_map(|command| command.words).collect()
                }
                false => vec![format!("{before}{value}{behind}")],
            };
            for text in texts {
                self.collect(&text, depth - 1, found);
            }
        }
    }
}

fn is_assignment(sign: &str) -> bool {
    matches!(sign, "=" | "?=" | ":=" | "::=" | "+=")
}
