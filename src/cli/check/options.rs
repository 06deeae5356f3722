//! The options of `meshprobe check` as settings.

use std::collections::BTreeSet;

use crate::engine::rule_names;
use crate::finding::{RuleId, Severity};
use crate::settings::{FailOn, Layer, RuleLevel};

use super::super::args::{CheckArgs, FailOnArg, SeverityArg};
use super::super::stop::Stop;

/// Returns the options of this command as a layer of settings.
///
/// # Errors
/// An unknown rule, or a reason for `--add-ignore` that is empty or has several lines.
pub(in crate::cli) fn options(args: &CheckArgs) -> Result<Layer, Stop> {
    let mut errors = Vec::new();
    let select = rule_ids("select", &args.select, &mut errors);
    let ignore = rule_ids("ignore", &args.ignore, &mut errors);
    let is_line = |reason: &&String| !reason.trim().is_empty() && !reason.contains(['\n', '\r']);
    if args
        .add_ignore
        .as_ref()
        .is_some_and(|reason| !is_line(&reason))
    {
        errors.push("`--add-ignore` requires a reason on one line".to_owned());
    }
    if !errors.is_empty() {
        return Err(Stop::Usage(errors));
    }
    Ok(Layer {
        fail_on: args.fail_on.map(fail_on),
        rules: ignore
            .into_iter()
            .map(|id| (id, RuleLevel::Ignore))
            .collect(),
        select: (!select.is_empty()).then_some(select),
        min_severity: args.min_severity.map(severity),
        require_rewritten: args.require_rewritten,
        only_environments: args.environments.names(),
        ..Layer::default()
    })
}

/// Parses the rules of an option, and adds an error for each unknown one.
fn rule_ids(option: &str, ids: &[String], errors: &mut Vec<String>) -> BTreeSet<RuleId> {
    let mut parsed = BTreeSet::new();
    for id in ids {
        match rule_names().parse_reported(id) {
            Ok(id) => {
                parsed.insert(id);
            }
            Err(error) => errors.push(format!(
                "invalid value `{id}` for `--{option}`: {}",
                error.message
            )),
        }
    }
    parsed
}

const fn severity(arg: SeverityArg) -> Severity {
    match arg {
        SeverityArg::Error => Severity::Error,
        SeverityArg::Warning => Severity::Warning,
        SeverityArg::Note => Severity::Note,
    }
}

const fn fail_on(arg: FailOnArg) -> FailOn {
    match arg {
        FailOnArg::Error => FailOn::Severity(Severity::Error),
        FailOnArg::Warning => FailOn::Severity(Severity::Warning),
        FailOnArg::Note => FailOn::Severity(Severity::Note),
        FailOnArg::Never => FailOn::Never,
    }
}
