//! The folders that printed commands read for facts.

use crate::source::shell_word;

/// The commands that messages recommend, with the working directory as the root of the tree.
const COMMANDS: [&str; 3] = [
    "meshprobe check --context . ",
    "meshprobe rewrite --context . ",
    "meshprobe rewrite --undo --context . ",
];

/// The option `--context` of printed commands: it names the roots of the trees that the run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextOption(String);

impl Default for ContextOption {
    /// Returns the option for a run in the root of its tree.
    fn default() -> Self {
        Self("--context .".to_owned())
    }
}

impl ContextOption {
    /// Creates the option for folders, which are relative to the working directory. Without folders, it names the
    /// working directory.
    #[must_use]
    pub fn of(folders: impl Iterator<Item = String>) -> Self {
        let options = folders.map(|folder| format!("--context {}", shell_word(&folder)));
        let options: Vec<String> = options.collect();
        if options.is_empty() {
            return Self::default();
        }
        Self(options.join(" "))
    }

    /// Replaces the option in the commands of a text.
    pub fn apply_to(&self, text: &mut String) {
        if *self == Self::default() || !text.contains("--context . ") {
            return;
        }
        for command in COMMANDS {
            let replaced = command.replace("--context .", &self.0);
            *text = text.replace(command, &replaced);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recommended_commands_are_changed() {
        let option = ContextOption::of(["..".to_owned(), "../a b".to_owned()].into_iter());
        let mut text = "`x --context . | meshprobe rewrite --undo --context . -`".to_owned();
        option.apply_to(&mut text);
        let command = "meshprobe rewrite --undo --context .. --context '../a b' -";
        assert_eq!(text, format!("`x --context . | {command}`"));
    }
}
