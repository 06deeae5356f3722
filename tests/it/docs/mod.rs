//! README, pages and pictures agree with the program, and with the style guide.

mod picture;
mod readme;
mod style;
