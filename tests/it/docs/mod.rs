//! README and pictures agree with the program.

mod picture;
mod readme;
