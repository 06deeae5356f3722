//! Reasons of failed operations on files.

use std::io;

/// Reason why a path that does not exist cannot be read.
pub const NO_SUCH_FILE: &str = "no such file or directory";

/// Returns the reason why an operation on a file failed, without error numbers and the paths of temporary files.
#[must_use]
pub fn io_error_reason(error: &io::Error) -> String {
    let message = error.to_string();
    // Only errors of the system have a number.
    match (error.kind(), message.split_once(" (os error")) {
        (io::ErrorKind::NotFound, _) => NO_SUCH_FILE.to_owned(),
        (io::ErrorKind::PermissionDenied, Some(_)) => "permission denied".to_owned(),
        (_, Some((words, _))) => words.to_owned(),
        (_, None) => message,
    }
}
