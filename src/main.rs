//! The `meshprobe` program; everything is in the library.

fn main() -> std::process::ExitCode {
    meshprobe::cli::main()
}
