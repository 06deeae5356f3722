//! The options that limit a report to some environments.

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub(in crate::cli) struct EnvironmentArgs {
    /// Report only this overlay or cluster (repeatable), by its name, such as prod-eu, or its path.
    ///
    /// The names are those that reports show, such as `in: prod-eu`, the folders that Flux and Argo CD deploy, and the
    /// names of the objects that deploy them. A name of several environments selects all of them. Files that belong to no
    /// environment are part of all.
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, help_heading = "Report")]
    overlay: Vec<String>,
    /// Same as --overlay.
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, help_heading = "Report")]
    cluster: Vec<String>,
}

impl EnvironmentArgs {
    /// Returns all names and paths.
    pub(in crate::cli) fn names(&self) -> Vec<String> {
        [&*self.overlay, &self.cluster].concat()
    }

    /// Returns the options that contain one of `names`.
    pub(in crate::cli) fn options_with(&self, names: &[String]) -> String {
        let options = [
            ("`--overlay`", &self.overlay),
            ("`--cluster`", &self.cluster),
        ];
        let options = options
            .into_iter()
            .filter(|(_, given)| given.iter().any(|name| names.contains(name)));
        let options: Vec<&str> = options.map(|(option, _)| option).collect();
        options.join(" and ")
    }
}
