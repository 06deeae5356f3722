//! The report in HTML.

mod content;
mod hostile;
mod parsed;
mod ways;
