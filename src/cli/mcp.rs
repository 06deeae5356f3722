//! `meshprobe mcp`.

#[cfg(feature = "mcp")]
pub(super) use with_server::run;
#[cfg(not(feature = "mcp"))]
pub(super) use without_server::run;

#[cfg(feature = "mcp")]
mod with_server {
    use std::ffi::OsString;
    use std::io::Cursor;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use meshprobe_engine::engine::Exit;
    use meshprobe_mcp::{self as mcp, Options, Root, Runner};
    use meshprobe_tree::filesystem::Confinement;

    use super::super::args::McpArgs;
    use super::super::run::run_arguments;
    use super::super::session::{Capture, Session};
    use super::super::stop::Stop;

    pub(in crate::cli) fn run(session: &Session, args: &McpArgs) -> Result<Exit, Stop> {
        let directory = session.directory()?;
        let roots: Result<Vec<Root>, String> = args
            .root
            .iter()
            .map(|root| Root::new(&directory.join(root)))
            .collect();
        let home = session.variable("HOME").map(OsString::from);
        let options = Options {
            directory: directory.to_path_buf(),
            roots: roots.map_err(Stop::usage)?,
            home: home.clone().map(PathBuf::from),
            time_limit: Duration::from_secs(args.timeout.into()),
        };
        mcp::serve(options, Arc::new(Program { home }))
            .map_err(|error| Stop::usage(error.to_string()))?;
        Ok(Exit::Success)
    }

    /// Runs commands in this process.
    struct Program {
        home: Option<OsString>,
    }

    impl Runner for Program {
        fn run(&self, command: &mcp::Command) -> mcp::Output {
            let (stdout, stderr) = (Capture::default(), Capture::default());
            let confinement =
                Confinement::new(command.roots.clone(), Arc::clone(&command.is_stopped));
            let mut session = Session::new(
                command.directory.clone(),
                Cursor::new(command.stdin.clone()),
                stdout.clone(),
                stderr.clone(),
            )
            .confined(confinement, command.directory.clone())
            .keeping_report();
            if let Some(home) = &self.home {
                session = session.with_variable("HOME", home);
            }
            let mut arguments = vec![OsString::from("meshprobe")];
            arguments.extend(command.arguments.iter().cloned());
            let exit = run_arguments(&arguments, &session);
            mcp::Output {
                report: session.take_report(),
                code: exit.code(),
                stdout: stdout.text(),
                stderr: stderr.text(),
            }
        }
    }
}

#[cfg(not(feature = "mcp"))]
mod without_server {
    use meshprobe_engine::engine::Exit;

    use super::super::args::McpArgs;
    use super::super::session::Session;
    use super::super::stop::Stop;

    pub(in crate::cli) fn run(_: &Session, args: &McpArgs) -> Result<Exit, Stop> {
        let _ = (&args.root, args.timeout);
        Err(
            Stop::usage("this build of meshprobe does not contain the server of `meshprobe mcp`")
                .help("use a released binary, or build with `--features mcp`"),
        )
    }
}
