//! Reports files that are encrypted in the repository.

use meshprobe_mesh::finding::{Finding, Label, Severity, names_and_more};
use meshprobe_tree::source::{Fault, Role, SourceFile};
use meshprobe_yaml::Span;

use meshprobe_rules::rules::notices::NOT_UTF8;

/// The maximum number of files that a message names.
const NAMED: usize = 3;

/// The first bytes of an encrypted file, and the command that decrypts the repository.
/// Source: git-crypt, `commands.cpp`; Plural CLI, `cmd/command/crypto/crypto.go`.
const TOOLS: [(&str, &str); 2] = [
    ("\0GITCRYPT\0", "git-crypt unlock"),
    ("CHARTMART-ENCRYPTED", "plural crypto unlock"),
];

/// Returns whether a file cannot be read because it is encrypted.
pub(super) fn is_encrypted(file: &SourceFile) -> bool {
    command(file).is_some()
}

fn command(file: &SourceFile) -> Option<&'static str> {
    let is_unread = matches!(file.fault, Some(Fault::NotUtf8 { .. }));
    let mut tools = TOOLS.iter().filter(|_| is_unread);
    let (_, command) = tools.find(|(start, _)| file.text.starts_with(start))?;
    Some(command)
}

/// Returns one note for all encrypted files.
pub(super) fn notice<'f>(files: impl Iterator<Item = &'f SourceFile>) -> Option<Finding> {
    let files: Vec<&SourceFile> = files
        .filter(|file| file.role != Role::Context && is_encrypted(file))
        .collect();
    let first = files.first()?;
    let named = names_and_more(files.iter().map(|file| format!("`{}`", file.path)), NAMED);
    let verb = match files.len() {
        1 => "it is",
        _ => "they are",
    };
    let message = format!("not checked: {named}; {verb} encrypted");
    let label = Label {
        path: first.path.clone(),
        span: Span::empty(0),
        message: String::new(),
    };
    let mut finding = Finding::new(NOT_UTF8, Severity::Note, label, message);
    finding.help = command(first).map(|command| format!("decrypt first: `{command}`"));
    Some(finding)
}
