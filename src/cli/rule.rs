//! `meshprobe rule`.

use meshprobe_engine::engine::{Exit, explained, rule_names};
use meshprobe_report::{self as report, rule_page};

use super::args::{RuleArgs, RuleFormat};
use super::session::Session;
use super::stop::Stop;

pub(super) fn run(session: &Session, args: &RuleArgs) -> Result<Exit, Stop> {
    let notices = explained();
    if args.output_format == RuleFormat::Json {
        let text = report::rules_json().map_err(|error| Stop::usage(error.to_string()))?;
        session.print_data(&text)?;
        return Ok(Exit::Success);
    }
    if args.all {
        let pages: Vec<String> = notices.iter().map(rule_page).collect();
        session.print_text(&pages.join("\n"))?;
        return Ok(Exit::Success);
    }
    match &args.id {
        None => {
            session.print_text(&report::rule_list())?;
        }
        Some(id) => {
            let id = rule_names().parse(id).map_err(Stop::usage)?;
            for notice in notices.iter().filter(|notice| notice.id == id) {
                session.print_text(&rule_page(notice))?;
            }
        }
    }
    Ok(Exit::Success)
}
