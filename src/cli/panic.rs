//! What the user sees of a panic that no one below has caught.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;

use crate::engine::{PanicReport, how_to_report, record_panic};

use super::Session;

/// Installs the panic hook. It prints nothing itself: a panic on one file becomes a finding, any
/// other one is printed by [`report`]. The stack is known only here, so it is printed here for
/// those who set `RUST_BACKTRACE`.
pub(super) fn install_hook() {
    #[cfg(debug_assertions)]
    if let Ok(stage) = std::env::var(crate::engine::planted_panic::VARIABLE) {
        crate::engine::planted_panic::plant(stage);
    }
    std::panic::set_hook(Box::new(|info| {
        record_panic(info);
        let stack = Backtrace::capture();
        if stack.status() == BacktraceStatus::Captured {
            // The hook belongs to the process, so it does not know the session. There is nothing to
            // do if standard error is closed.
            let _ = writeln!(std::io::stderr(), "stack backtrace:\n{stack}");
        }
    }));
}

/// Prints what to report, and where.
pub(super) fn report(session: &Session, panic: &PanicReport) {
    let version = env!("CARGO_PKG_VERSION");
    session.errln(&format!("error: meshprobe {version} panicked: {panic}"));
    session.errln(&format!("help: {}", how_to_report("its input")));
}
