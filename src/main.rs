//! The `meshprobe` program, which calls the library.

/// mimalloc, because parallel allocations cost twice as much with the default allocator of most systems.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    meshprobe::cli::main()
}
