//! The process that started the server.

/// Returns whether a process runs; `true` if it cannot be determined.
#[cfg(target_os = "linux")]
pub(super) fn is_running(process: u32) -> bool {
    // A process that has ended and that no one has waited for is a zombie.
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => {
            let state = stat
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next());
            !matches!(state, Some('Z' | 'X'))
        }
        // Without `/proc`, nothing is known about any process.
        Err(_) => !std::path::Path::new("/proc/self/stat").exists(),
    }
}

/// Elsewhere, the server ends when its standard input is closed, which also happens when the client dies.
#[cfg(not(target_os = "linux"))]
pub(super) const fn is_running(_process: u32) -> bool {
    true
}
