//! The options of `meshprobe check` as settings.

use meshprobe_mesh::finding::Severity;
use meshprobe_mesh::settings::{FailOn, Layer, RequiredVerdicts, RuleLevel};

use super::super::args::{CheckArgs, FailOnArg, SeverityArg};

/// Returns the options of this command as a layer of settings.
pub(in crate::cli) fn options(args: &CheckArgs) -> Layer {
    let ignore = args.ignore.iter().map(|id| (*id, RuleLevel::Ignore));
    let select = args.select.iter().copied();
    Layer {
        fail_on: args.fail_on.iter().filter_map(fail_on).reduce(FailOn::or),
        required: required(args),
        rules: ignore.collect(),
        select: (!args.select.is_empty()).then(|| select.collect()),
        min_severity: args.min_severity.map(severity),
        require_rewritten: args.require_rewritten,
        only_environments: args.environments.names(),
        ..Layer::default()
    }
}

const fn severity(arg: SeverityArg) -> Severity {
    match arg {
        SeverityArg::Error => Severity::Error,
        SeverityArg::Warning => Severity::Warning,
        SeverityArg::Note => Severity::Note,
    }
}

const fn fail_on(arg: &FailOnArg) -> Option<FailOn> {
    match arg {
        FailOnArg::Error => Some(FailOn::Severity(Severity::Error)),
        FailOnArg::Warning => Some(FailOn::Severity(Severity::Warning)),
        FailOnArg::Note => Some(FailOn::Severity(Severity::Note)),
        FailOnArg::Never => Some(FailOn::Never),
        FailOnArg::NotJudged => None,
    }
}

/// Returns the verdicts that the options require; `None` if they leave it to the configuration.
fn required(args: &CheckArgs) -> Option<RequiredVerdicts> {
    if args.fail_on.contains(&FailOnArg::NotJudged) {
        return Some(RequiredVerdicts::All);
    }
    match args.report.require_workloads {
        true => Some(RequiredVerdicts::One),
        false => (!args.fail_on.is_empty()).then_some(RequiredVerdicts::None),
    }
}
