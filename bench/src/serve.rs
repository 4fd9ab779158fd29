//! The servers that are measured, each in a process of its own that ends when its standard input does.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use maar_embedded::{Clock, Cluster, Config};
use maar_nodes::{DEFAULT_PROFILE, Options, Profile, simulate};
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The size of the pieces in which the embedded server sends a list.
const PIECE: usize = 128 << 10;

/// What the embedded cluster of a measurement is like.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many simulated nodes it has
    #[arg(long, default_value_t = 0)]
    nodes: u32,
}

/// Says where the server is, then waits until nobody needs it any more.
async fn until_done(address: SocketAddr, root: &str, token: &str) -> anyhow::Result<()> {
    let ready = json!({"authority": address.to_string(), "root": root, "token": token});
    writeln!(std::io::stdout(), "{ready}")?;
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

/// An embedded cluster as `maar up` has it: controllers, TLS, as many threads as cores.
pub(crate) fn cluster(arguments: Arguments) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let cluster = Cluster::start(Config::wall()).await?;
        let listener = cluster.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let stop = CancellationToken::new();
        let mut nodes = None;
        if arguments.nodes > 0 {
            let profile = Profile::parse(DEFAULT_PROFILE)?.with_total(arguments.nodes);
            let clock = Clock::wall();
            let options = Options::in_process("bench", maar_nodes::Clock::new(move || clock.now()), 1);
            nodes = Some(simulate(cluster.client(), profile, options, stop.clone()).await?);
        }
        until_done(listener.address, &cluster.root_ca()?, &cluster.admin_token()?).await?;
        stop.cancel();
        drop(nodes);
        listener.stop().await;
        cluster.stop().await;
        Ok(())
    })
}

/// The same transport with nothing behind it: POST answers with what was sent, `GET /N` with N bytes in pieces.
pub(crate) fn bytes() -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                // A connection that fails shows at the client.
                tokio::spawn(answer_all(stream, acceptor.clone()));
            }
        });
        until_done(address, &own.cert.pem(), "none").await?;
        accepting.abort();
        Ok(())
    })
}

async fn answer_all(stream: TcpStream, acceptor: TlsAcceptor) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let stream = acceptor.accept(stream).await?;
    let service = service_fn(answer);
    let builder = Builder::new(TokioExecutor::new());
    let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
    served.map_err(anyhow::Error::from_boxed)
}

async fn answer(request: Request<Incoming>) -> anyhow::Result<Response<Body>> {
    if request.method() == Method::POST {
        let body = request.into_body().collect().await?.to_bytes();
        return Ok(Response::new(Body::from(body)));
    }
    let wanted: usize = request.uri().path().trim_start_matches('/').parse()?;
    let piece = Bytes::from(vec![b'x'; PIECE]);
    let pieces = (0..wanted.div_ceil(PIECE))
        .map(move |index| Ok::<_, std::io::Error>(piece.slice(..PIECE.min(wanted - index * PIECE))));
    Ok(Response::new(Body::from_stream(stream::iter(pieces))))
}
