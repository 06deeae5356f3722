//! Reads the settings of a run.

use std::path::Path;

use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::settings::Layer;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::Request;

use super::request::{RenderFallback, request};
use crate::cli::args::Common;
use crate::cli::config::LoadedConfig;
use crate::cli::session::Session;
use crate::cli::stop::Stop;
use crate::cli::{config, surroundings};

/// The settings of a run, and the files to read.
pub(in crate::cli) struct Planned<'a> {
    pub(in crate::cli) layer: Layer,
    /// The configuration file, as shown to the user.
    pub(in crate::cli) config: Option<String>,
    pub(in crate::cli) request: Request,
    pub(in crate::cli) limits: surroundings::Limits<'a>,
}

/// Reads the settings of a run from `filesystem`, which also contains the files to read.
///
/// # Errors
/// An option, a path or the configuration file is invalid.
pub(in crate::cli) fn plan<'a>(
    session: &Session,
    common: &Common,
    fallback: RenderFallback,
    output: Option<&'a Path>,
    filesystem: FileSystem,
) -> Result<Planned<'a>, Stop> {
    let directory = session.directory()?;
    let LoadedConfig {
        layer,
        context,
        folder,
        shown,
    } = config::load_config(common, directory, &filesystem)?;
    check_release(session, &layer, common)?;
    let mut request = request(session, common, context, fallback)?;
    request.filesystem = filesystem;
    let limits = surroundings::Limits {
        is_isolated: common.isolated,
        config: folder,
        declares_root: layer.root == Some(true),
        output,
    };
    surroundings::add(session, common, &limits, &mut request)?;
    Ok(Planned {
        layer,
        config: shown,
        request,
        limits,
    })
}

/// Rejects a release that does not belong to Istio 1, and prints a note for a release that is older than those
/// that are modelled. `mesh_version` is a release of Istio unless the settings name another mesh.
fn check_release(session: &Session, layer: &Layer, common: &Common) -> Result<(), Stop> {
    let (first, last) = (Version::FIRST_ISTIO, Version::LAST_ISTIO);
    let about_istio = layer.mesh.unwrap_or_default().may_be_istio();
    let Some(version) = layer.mesh_version.filter(|_| about_istio) else {
        return Ok(());
    };
    if version.major != last.major {
        return Err(Stop::usage(format!(
            "`{version}` is not a release of Istio; expected {first} to {last}"
        ))
        .help(
            "set the release with `--mesh-version`, or with `mesh.version` in the configuration",
        ));
    }
    let first_modelled = Version::FIRST_MODELLED_ISTIO;
    if version < first_modelled && !common.quiet {
        session.errln(&format!(
            "note: Istio {version} is older than {first_modelled}, the oldest release that meshprobe models; predictions \
             may be wrong"
        ));
    }
    Ok(())
}
