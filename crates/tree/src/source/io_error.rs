//! Reasons of failed operations on files.

use std::io;

/// Reason why a path that does not exist cannot be read.
pub const NO_SUCH_FILE: &str = "no such file or directory";

/// Returns the reason why an operation on a file failed, without error numbers.
#[must_use]
pub fn io_error_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => NO_SUCH_FILE.to_owned(),
        // An error without a reason of its own is from the system.
        io::ErrorKind::PermissionDenied if error.get_ref().is_none() => {
            "permission denied".to_owned()
        }
        _ => without_number(&error.to_string()).to_owned(),
    }
}

/// Removes the number of an error, which is not useful to users.
fn without_number(message: &str) -> &str {
    message
        .split_once(" (os error")
        .map_or(message, |(words, _)| words)
}
