//! Texts in the words of readers that have no command line: settings replace options.

use meshprobe_mesh::finding::Assumption;

/// A reader that has no command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The author of the configuration of a KRM function, which has keys.
    Function,
    /// An assistant, whose tools have arguments.
    Assistant,
}

/// Options, each with the key of a function and the argument of a tool; empty if there is none.
const SETTINGS: [(&str, &str, &str); 7] = [
    ("--assume", "assume", "assume"),
    ("--context", "context", "context"),
    ("--form", "form", ""),
    ("--mesh", "mesh.kind", "mesh"),
    ("--mesh-version", "mesh.version", "mesh_version"),
    ("--namespace", "", "namespace"),
    ("--override", "", "override"),
];

impl Reader {
    /// Returns a help text. Alternatives that the reader does not have are left out; `None` if none is left.
    #[must_use]
    pub fn help(self, help: &str) -> Option<String> {
        let mut text = String::new();
        for sentence in help.split("; ") {
            let mut separator = if text.is_empty() { "" } else { "; " };
            for (at, part) in sentence.split(", or ").enumerate() {
                let Some(part) = self.worded(part) else {
                    continue;
                };
                // The verb is in an alternative that is left out.
                let is_bare = at > 0 && separator != ", or " && part.starts_with('`');
                let verb = if is_bare { "use " } else { "" };
                text.push_str(&format!("{separator}{verb}{part}"));
                separator = ", or ";
            }
        }
        (!text.is_empty()).then_some(text)
    }

    /// Returns a text, which is unchanged if the reader has no setting for one of its options.
    #[must_use]
    pub fn message(self, text: &str) -> String {
        self.worded(text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns an assumption, without the options that settle it if the reader has no settings for them.
    #[must_use]
    pub fn assumption(self, assumption: &Assumption) -> String {
        let worded = self.worded(&assumption.to_string());
        worded.unwrap_or_else(|| assumption.fact.clone())
    }

    /// Replaces the options of a text, which are between backticks, brackets or parentheses; returns `None` if there is no
    /// setting for one of them. An assistant can show a command to its user.
    fn worded(self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("--") {
            let (before, options) = rest.split_at(at);
            let end = options.find(['`', ']', ')']).unwrap_or(options.len());
            let (options, behind) = options.split_at(end);
            out.push_str(before);
            match (before.ends_with(['`', '[', '(']), self) {
                (true, _) => out.push_str(&self.settings(options)?),
                (false, Self::Assistant) => out.push_str(options),
                (false, Self::Function) => return None,
            }
            rest = behind;
        }
        out.push_str(rest);
        Some(out)
    }

    /// Returns the settings for options such as `--mesh kuma --mesh-version 2.10`.
    fn settings(self, options: &str) -> Option<String> {
        let mut all: Vec<(&str, Vec<String>)> = Vec::new();
        let mut words = options.split_whitespace().peekable();
        while let Some(option) = words.next() {
            let known = SETTINGS.iter().find(|(known, ..)| *known == option);
            let name = known.map(|(_, key, argument)| match self {
                Self::Function => *key,
                Self::Assistant => *argument,
            });
            let name = name.filter(|name| !name.is_empty())?;
            let value = words.next_if(|word| !word.starts_with("--"));
            let value = value.filter(|_| name != "context").map(|value| match self {
                Self::Function => value.replacen('=', ": ", 1),
                Self::Assistant => format!("\"{value}\""),
            });
            match all.last_mut().filter(|(last, _)| *last == name) {
                Some((_, values)) => values.extend(value),
                None => all.push((name, value.into_iter().collect())),
            }
        }
        let shown = all.into_iter().map(|(name, values)| {
            let values = values.join(", ");
            match (name, self) {
                _ if values.is_empty() => name.to_owned(),
                ("assume" | "override", Self::Function) => format!("{name}: {{{values}}}"),
                ("assume" | "override", Self::Assistant) => format!("{name}: [{values}]"),
                _ => format!("{name}: {values}"),
            }
        });
        Some(shown.collect::<Vec<_>>().join(", "))
    }
}
