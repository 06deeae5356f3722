//! The command that renders and checks a chart.

use std::fmt::Write as _;

use crate::source::{placeholder, shell_word};

/// A chart with the values that something deploys it with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct HelmCommand {
    /// The name of the release.
    pub(in crate::engine) name: String,
    /// The folder of a chart in the tree, or the name or the address of a remote chart.
    pub(in crate::engine) chart: String,
    /// The repository of a remote chart.
    pub(in crate::engine) repository: Option<String>,
    /// The version of a remote chart.
    pub(in crate::engine) version: Option<String>,
    /// The namespace of the release.
    pub(in crate::engine) namespace: Option<String>,
    /// Values files of the tree.
    pub(in crate::engine) values: Vec<String>,
    /// A file of the tree, and an expression of `yq` that selects values in it.
    pub(in crate::engine) inline: Option<(String, String)>,
    /// Values as YAML, which take precedence over the files; later ones take precedence.
    pub(in crate::engine) texts: Vec<String>,
    /// Single values.
    pub(in crate::engine) set: Vec<(String, String)>,
    /// Single values that are strings, also if they look like numbers.
    pub(in crate::engine) set_strings: Vec<(String, String)>,
    /// Whether the chart is in the tree.
    pub(in crate::engine) is_local: bool,
    /// Whether the tree does not contain the address of a remote chart.
    pub(in crate::engine) lacks_address: bool,
}

impl HelmCommand {
    /// Returns the command line in backticks; a sentence if another tool fills in a part of it, or its address is not known.
    pub(super) fn help(&self) -> String {
        let line = self.line();
        match self.lacks_address || placeholder::contains(&line) {
            true => "render the chart as it is deployed, and check the output".to_owned(),
            false => format!("`{line}`"),
        }
    }

    /// Returns the command line. The text of manifests is quoted, so that it cannot run another command.
    fn line(&self) -> String {
        if self.is_local
            && self.inline.is_none()
            && self.set.is_empty()
            && self.set_strings.is_empty()
        {
            let mut line = format!("meshprobe check --helm {}", shell_word(&self.chart));
            self.add_values(&mut line);
            self.add_namespace(&mut line);
            return line;
        }
        let mut line = String::new();
        if let Some((file, expression)) = &self.inline {
            let _ = write!(
                line,
                "yq {} {} | ",
                shell_word(expression),
                shell_word(file)
            );
        }
        line.push_str("helm template");
        for word in [&self.name, &self.chart] {
            if !word.is_empty() {
                let _ = write!(line, " {}", shell_word(word));
            }
        }
        for (option, value) in [("--repo", &self.repository), ("--version", &self.version)] {
            if let Some(value) = value {
                let _ = write!(line, " {option} {}", shell_word(value));
            }
        }
        self.add_namespace(&mut line);
        self.add_values(&mut line);
        if self.inline.is_some() {
            line.push_str(" --values -");
        }
        for (option, pairs) in [("--set", &self.set), ("--set-string", &self.set_strings)] {
            for (key, value) in pairs {
                let _ = write!(line, " {option} {}", shell_word(&format!("{key}={value}")));
            }
        }
        line.push_str(" | meshprobe check --context . -");
        self.add_namespace(&mut line);
        line
    }

    fn add_values(&self, line: &mut String) {
        for file in &self.values {
            let _ = write!(line, " --values {}", shell_word(file));
        }
    }

    fn add_namespace(&self, line: &mut String) {
        if let Some(namespace) = &self.namespace {
            let _ = write!(line, " --namespace {}", shell_word(namespace));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> HelmCommand {
        HelmCommand {
            name: "web".into(),
            chart: "charts/web".into(),
            namespace: Some("shop".into()),
            values: vec!["prod.yaml".into()],
            is_local: true,
            ..HelmCommand::default()
        }
    }

    #[test]
    fn a_local_chart_is_rendered_by_the_tool_itself() {
        assert_eq!(
            local().line(),
            "meshprobe check --helm charts/web --values prod.yaml --namespace shop"
        );
    }

    #[test]
    fn inline_values_are_piped_into_helm() {
        let command = HelmCommand {
            inline: Some(("apps/web.yaml".into(), ".spec.values".into())),
            set: vec![("a.b".into(), "c d".into())],
            ..local()
        };
        assert_eq!(
            command.line(),
            "yq .spec.values apps/web.yaml | helm template web charts/web --namespace shop \
             --values prod.yaml --values - --set 'a.b=c d' | meshprobe check --context . - --namespace shop"
        );
    }
}
