//! `meshprobe rule`.

use crate::engine::{Exit, Notice, explained, is_guard, rule_ids};
use crate::report::{self, rule_page};
use crate::settings::not_one_of;

use super::args::{RuleArgs, RuleFormat};
use super::output::Stop;
use super::session::Session;

pub(super) fn run(session: &Session, args: &RuleArgs) -> Result<Exit, Stop> {
    let all = explained();
    if args.output_format == RuleFormat::Json {
        let text = report::rules_json().map_err(|error| Stop::usage(error.to_string()))?;
        session.print(&text)?;
        return Ok(Exit::Success);
    }
    if args.all {
        let pages: Vec<String> = all.iter().map(rule_page).collect();
        session.print(&pages.join("\n"))?;
        return Ok(Exit::Success);
    }
    match &args.id {
        None => {
            let line = |rule: &Notice| format!("{} ({})\n", rule.id, rule.severity.as_str());
            let (guards, rules): (Vec<_>, Vec<_>) = all.iter().partition(|rule| is_guard(rule.id));
            let lines = |all: Vec<&Notice>| all.into_iter().map(line).collect::<String>();
            let (rules, guards) = (lines(rules), lines(guards));
            session.print(&format!("{rules}\nGuards of rewrite:\n{guards}"))?;
        }
        Some(id) => match all.iter().find(|rule| rule.id == id) {
            Some(rule) => session.print(&rule_page(rule))?,
            None => return Err(Stop::usage(not_one_of("rule", id, &rule_ids()))),
        },
    }
    Ok(Exit::Success)
}
