//! The `meshprobe` program; everything is in the library.

/// Threads that allocate side by side cost twice as much with the allocator of most systems.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    meshprobe::cli::main()
}
