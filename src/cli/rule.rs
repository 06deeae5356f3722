//! `meshprobe rule`.

use crate::engine::{Exit, Notice, explained, is_guard, rule_ids};
use crate::report::{self, rule_page};
use crate::settings::unknown_value_message;

use super::args::{RuleArgs, RuleFormat};
use super::session::Session;
use super::stop::Stop;

pub(super) fn run(session: &Session, args: &RuleArgs) -> Result<Exit, Stop> {
    let notices = explained();
    if args.output_format == RuleFormat::Json {
        let text = report::rules_json().map_err(|error| Stop::usage(error.to_string()))?;
        session.print(&text)?;
        return Ok(Exit::Success);
    }
    if args.all {
        let pages: Vec<String> = notices.iter().map(rule_page).collect();
        session.print(&pages.join("\n"))?;
        return Ok(Exit::Success);
    }
    match &args.id {
        None => {
            let line = |rule: &Notice| format!("{} ({})\n", rule.id, rule.severity.as_str());
            let (guards, rules): (Vec<_>, Vec<_>) =
                notices.iter().partition(|notice| is_guard(notice.id));
            let lines = |notices: Vec<&Notice>| notices.into_iter().map(line).collect::<String>();
            let (rules, guards) = (lines(rules), lines(guards));
            session.print(&format!("{rules}\nGuards of rewrite:\n{guards}"))?;
        }
        Some(id) => match notices.iter().find(|rule| rule.id == id) {
            Some(rule) => session.print(&rule_page(rule))?,
            None => return Err(Stop::usage(unknown_value_message("rule", id, &rule_ids()))),
        },
    }
    Ok(Exit::Success)
}
