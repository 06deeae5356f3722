//! The options of `meshprobe lsp`: those of `check` that apply to a whole workspace.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::check::CheckArgs;

/// The options of `check` that the language server has, too.
const OPTIONS: [&str; 19] = [
    "mesh",
    "mesh_version",
    "assume",
    "overrides",
    "namespace",
    "context",
    "no_context",
    "exclude",
    "no_ignore",
    "config",
    "isolated",
    "threads",
    "select",
    "ignore",
    "min_severity",
    "baseline",
    "require_rewritten",
    "overlay",
    "cluster",
];

/// The options of `meshprobe lsp`, by name.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct LspArgs {
    /// The options with their values; a flag has no value.
    pub(in crate::cli) options: Vec<(OptionName, Vec<String>)>,
}

/// An option of `check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct OptionName {
    /// The name without `--`, such as `mesh-version`.
    pub(in crate::cli) long: String,
    /// Whether it has no value.
    pub(in crate::cli) is_flag: bool,
    /// Whether it can be repeated.
    pub(in crate::cli) is_repeatable: bool,
}

impl OptionName {
    /// Returns all options.
    pub(in crate::cli) fn all() -> Vec<Self> {
        all().iter().filter_map(Self::of).collect()
    }

    fn of(arg: &Arg) -> Option<Self> {
        let actions = arg.get_action();
        Some(Self {
            long: arg.get_long()?.to_owned(),
            is_flag: !actions.takes_values(),
            is_repeatable: matches!(actions, ArgAction::Append),
        })
    }
}

/// Returns the definitions of the options.
fn all() -> Vec<Arg> {
    let check = CheckArgs::augment_args(Command::new("check"));
    let is_shared = |arg: &&Arg| OPTIONS.contains(&arg.get_id().as_str());
    check.get_arguments().filter(is_shared).cloned().collect()
}

impl Args for LspArgs {
    fn augment_args(command: Command) -> Command {
        // Several clients start every language server with this option.
        let stdio = Arg::new("stdio")
            .long("stdio")
            .action(ArgAction::SetTrue)
            .hide(true);
        command.arg(stdio).args(all())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LspArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for arg in all() {
            let id = arg.get_id().as_str();
            let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
            if let Some(name) = OptionName::of(&arg).filter(|_| is_given) {
                let raw = matches.get_raw(id).into_iter().flatten();
                let values = raw.map(|value| value.to_string_lossy().into_owned());
                let values = if name.is_flag {
                    Vec::new()
                } else {
                    values.collect()
                };
                self.options.push((name, values));
            }
        }
        Ok(())
    }
}
