//! `meshprobe schema`.

use meshprobe_mesh::settings;

use super::args::{SchemaArgs, SchemaKind};
use super::session::Session;
use super::stop::Stop;
use crate::krm;
use meshprobe_engine::engine::{Exit, rule_names};

pub(super) fn run(session: &Session, args: &SchemaArgs) -> Result<Exit, Stop> {
    let text = match args.of {
        SchemaKind::Config => serde_json::to_string_pretty(&settings::schema(rule_names()))
            .map(|text| text + "\n")
            .map_err(|error| Stop::usage(error.to_string()))?,
        SchemaKind::Function => {
            krm::definition().map_err(|error| Stop::usage(error.to_string()))?
        }
    };
    session.print_data(&text)?;
    Ok(Exit::Success)
}
