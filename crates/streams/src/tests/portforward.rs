//! Port-forward through every protocol over in-memory connections.

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::server::{CLOSED_PORT, ECHO_PORT, GREETING_PORT, connect, kubelet};
use crate::{ConnectError, ConnectTarget, PortForwardClient, PortForwardProtocol, connect_portforward};

async fn forward(protocol: PortForwardProtocol, ports: &[u16]) -> PortForwardClient {
    let list: Vec<_> = ports.iter().map(ToString::to_string).collect();
    let path = format!("/portForward/default/pod?port={}", list.join(","));
    let target = ConnectTarget::new(path.parse().unwrap());
    connect_portforward(connect(kubelet(None)), target, protocol, ports).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn eight_megabytes_come_back_unchanged() {
    let sent: Vec<u8> = (0..251u8).cycle().take(8 << 20).collect();
    for protocol in PortForwardProtocol::ALL {
        let mut client = forward(protocol, &[ECHO_PORT]).await;
        let stream = client.open(ECHO_PORT).await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(stream.data);
        let mut got = vec![0; sent.len()];
        let (written, read) = tokio::join!(writer.write_all(&sent), reader.read_exact(&mut got));
        written.unwrap();
        read.unwrap();
        assert!(got == sent, "{protocol:?} changed the bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn each_direction_ends_by_itself() {
    for protocol in PortForwardProtocol::ALL.into_iter().filter(|protocol| protocol.has_connections()) {
        let mut client = forward(protocol, &[ECHO_PORT]).await;
        let mut stream = client.open(ECHO_PORT).await.unwrap();
        stream.data.write_all(b"last words").await.unwrap();
        stream.data.shutdown().await.unwrap();
        let mut got = String::new();
        stream.data.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, "last words", "{protocol:?}");
        stream.error.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, "last words", "no error was reported");
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_that_ends_by_itself_is_seen_to_end() {
    for protocol in PortForwardProtocol::ALL {
        let mut client = forward(protocol, &[GREETING_PORT]).await;
        let mut stream = client.open(GREETING_PORT).await.unwrap();
        let mut got = String::new();
        stream.data.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, "hello", "{protocol:?}");
        // Before the client has closed its own side, as kubectl up to 1.28 waits for it.
        stream.error.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, "hello", "{protocol:?} reported an error");
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_port_says_why_and_the_others_go_on() {
    for protocol in PortForwardProtocol::ALL {
        let mut client = forward(protocol, &[CLOSED_PORT, ECHO_PORT]).await;
        let mut closed = client.open(CLOSED_PORT).await.unwrap();
        let mut echo = client.open(ECHO_PORT).await.unwrap();
        let mut message = [0; 18];
        closed.error.read_exact(&mut message).await.unwrap();
        assert_eq!(&message, b"connection refused", "{protocol:?}");
        echo.data.write_all(b"still").await.unwrap();
        let mut got = [0; 5];
        echo.data.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"still", "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_connections_share_one_port_forward() {
    for protocol in PortForwardProtocol::ALL.into_iter().filter(|protocol| protocol.has_connections()) {
        let mut client = forward(protocol, &[]).await;
        let mut streams = Vec::new();
        for _ in 0..50 {
            streams.push(client.open(ECHO_PORT).await.unwrap());
        }
        for (index, stream) in streams.iter_mut().enumerate() {
            stream.data.write_all(format!("{index:03}").as_bytes()).await.unwrap();
        }
        for (index, stream) in streams.iter_mut().enumerate().rev() {
            let mut got = [0; 3];
            stream.data.read_exact(&mut got).await.unwrap();
            assert_eq!(got, *format!("{index:03}").as_bytes(), "{protocol:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_stalled_connection_does_not_stop_the_others() {
    for protocol in PortForwardProtocol::ALL.into_iter().filter(|protocol| protocol.has_connections()) {
        let mut client = forward(protocol, &[]).await;
        let mut stalled = client.open(ECHO_PORT).await.unwrap();
        let zeros = vec![0; 8 << 20];
        // Nobody reads the echo, so this fills every buffer on the way and then waits.
        let filling = tokio::time::timeout(std::time::Duration::from_secs(1), stalled.data.write_all(&zeros));
        assert!(filling.await.is_err(), "{protocol:?}: 8 MiB were swallowed by buffers");
        let mut other = client.open(ECHO_PORT).await.unwrap();
        other.data.write_all(b"through").await.unwrap();
        let mut got = [0; 7];
        other.data.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"through", "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn channels_need_their_ports_named_ahead() {
    for (query, want) in [
        ("", "is required"),
        ("?port=no", "must be a port"),
        (&format!("?port=1{}", ",1".repeat(200)), "too many"),
    ] {
        let target = ConnectTarget::new(format!("/portForward/default/pod{query}").parse().unwrap());
        let connecting =
            connect_portforward(connect(kubelet(None)), target, PortForwardProtocol::WebSocketV4, &[]);
        let error = connecting.await.unwrap_err();
        let ConnectError::Refused { status, message } = error else { panic!("{error:?}") };
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(message.contains(want), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_its_other_half_is_told_after_a_while() {
    use crate::spdy::connection::Connection;
    use crate::spdy::session::Role;

    let (near, far) = tokio::io::duplex(1024);
    let (sender, mut connections) = tokio::sync::mpsc::channel(1);
    let server = Connection::start(Box::new(far), Role::Server);
    tokio::spawn(crate::spdy::portforward::Pairing::new(server).run(sender));
    let client = Connection::start(Box::new(near), Role::Client);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let nonsense = client.open(vec![header("port", "0"), header("streamtype", "error")]).await;
    assert!(nonsense.is_err(), "a stream for port 0 is refused");
    let mut lonely = client.open(vec![header("port", "80"), header("streamtype", "error")]).await.unwrap();
    let started = tokio::time::Instant::now();
    let mut message = String::new();
    lonely.read_to_string(&mut message).await.unwrap();
    assert!(message.contains("timed out waiting for streams"), "{message}");
    assert_eq!(started.elapsed().as_secs(), 30);
    assert!(connections.try_recv().is_err());
}
