//! Reports panics that nothing else has caught.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;

use meshprobe_engine::engine::{PanicReport, how_to_report, record_panic};

use super::session::Session;

/// Installs the panic hook. It does not print the panic: a panic on one file becomes a finding, and [`report`] prints
/// all others. It prints the stack if `RUST_BACKTRACE` is set, because only the hook knows it.
pub(super) fn install_hook() {
    #[cfg(debug_assertions)]
    if let Ok(stage) = std::env::var(meshprobe_engine::engine::planted_panic::VARIABLE) {
        meshprobe_engine::engine::planted_panic::plant(stage);
    }
    std::panic::set_hook(Box::new(|info| {
        record_panic(info);
        let stack = Backtrace::capture();
        if stack.status() == BacktraceStatus::Captured {
            // The hook belongs to the process, so it does not know the session. If standard error is closed, the
            // failure cannot be reported anywhere.
            let _ = writeln!(std::io::stderr(), "stack backtrace:\n{stack}");
        }
    }));
}

/// Prints the panic, and how to report it.
pub(super) fn report(session: &Session, panic: &PanicReport) {
    let version = env!("CARGO_PKG_VERSION");
    session.errln(&format!("error: meshprobe {version} panicked: {panic}"));
    session.errln(&format!("help: {}", how_to_report("its input")));
}
