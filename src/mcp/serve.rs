//! Runs the server on the streams of the process.

use std::io;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use super::options::Options;
use super::runner::Runner;
use super::server::Server;

/// Serves a client on standard input and output until it closes the connection.
///
/// # Errors
/// The runtime cannot be started, or the client sends a message before it has initialized the protocol.
pub fn serve(options: Options, runner: Arc<dyn Runner>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let result = runtime.block_on(serve_on(
        (tokio::io::stdin(), tokio::io::stdout()),
        options,
        runner,
    ));
    // No one waits for calls that still run.
    runtime.shutdown_background();
    result
}

/// Serves a client on two streams.
///
/// # Errors
/// The client sends a message before it has initialized the protocol.
pub(super) async fn serve_on(
    streams: (
        impl AsyncRead + Send + Unpin + 'static,
        impl AsyncWrite + Send + Unpin + 'static,
    ),
    options: Options,
    runner: Arc<dyn Runner>,
) -> io::Result<()> {
    let served = match Server::new(options, runner).serve(streams).await {
        Ok(running) => running.waiting().await.map(|_| ()),
        // The client left before it initialized the protocol.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    served.map_err(io::Error::other)
}
