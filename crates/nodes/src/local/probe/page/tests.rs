use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

const PATIENCE: Duration = Duration::from_secs(5);

/// Answers every request in the same way, but for pages that are called `then` with "fine"; what was asked is kept.
async fn server(answer: &'static str) -> (Container, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let container = container(listener.local_addr().unwrap().port());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 1024];
            let count = stream.read(&mut buffer).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let fine = request.contains("/then");
            kept.lock().push(request);
            let answer = if fine { "HTTP/1.1 200 Fine" } else { answer };
            let _ = stream.write_all(format!("{answer}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await;
        }
    });
    (container, asked)
}

fn container(port: u16) -> Container {
    let value = json!({ "name": "c", "ports": [{ "name": "web", "containerPort": port }] });
    serde_json::from_value(value).unwrap()
}

fn action(value: Value) -> HTTPGetAction {
    let mut value = value;
    value["port"] = json!("web");
    serde_json::from_value(value).unwrap()
}

#[tokio::test]
async fn answers_are_judged_by_their_status_but_not_those_to_hooks() {
    let wanted = action(json!({ "path": "/ok" }));
    let (well, _) = server("HTTP/1.1 302 Found").await;
    assert_eq!(probe(&well, &wanted, PATIENCE).await, Ok(()));
    let (ill, _) = server("HTTP/1.1 503 Sorry").await;
    assert!(probe(&ill, &wanted, PATIENCE).await.unwrap_err().contains("503"));
    assert_eq!(hook(&ill, &wanted, PATIENCE).await, Ok(()));
}

#[tokio::test]
async fn a_request_has_one_host_and_one_agent_and_begins_at_the_root() {
    let (container, asked) = server("HTTP/1.1 200 OK").await;
    let header = |name: &str, value: &str| json!({ "name": name, "value": value });
    let own =
        [header("host", "example.com"), header("User-Agent", "me"), header("X-A", "1"), header("X-A", "2")];
    assert_eq!(
        probe(&container, &action(json!({ "path": "a b?c=d", "httpHeaders": own })), PATIENCE).await,
        Ok(())
    );
    assert_eq!(
        hook(&container, &action(json!({ "httpHeaders": [header("Accept", "")] })), PATIENCE).await,
        Ok(())
    );
    let asked = asked.lock().clone();
    assert_eq!(
        asked[0],
        "GET /a%20b?c=d HTTP/1.1\r\nhost: example.com\r\nuser-agent: me\r\nx-a: 1\r\nx-a: 2\r\naccept: */*\r\n\r\n"
    );
    let port = container.ports.unwrap()[0].container_port;
    assert_eq!(
        asked[1],
        format!("GET / HTTP/1.1\r\nuser-agent: kube-lifecycle/1.36\r\nhost: 127.0.0.1:{port}\r\n\r\n")
    );
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host_only() {
    let rows = [
        ("HTTP/1.1 301 Moved\r\nlocation: /then", 2, "GET /then "),
        ("HTTP/1.1 302 Found\r\nlocation: then?x", 2, "GET /a/then?x "),
        ("HTTP/1.1 302 Found\r\nlocation: http://example.com/then", 1, "GET /a/b "),
        ("HTTP/1.1 302 Found\r\nlocation: /again", 10, "GET /again "),
    ];
    for (answer, want_asked, want_last) in rows {
        let (container, asked) = server(answer).await;
        let outcome = probe(&container, &action(json!({ "path": "/a/b" })), PATIENCE).await;
        let asked = asked.lock().clone();
        assert_eq!(asked.len(), want_asked, "{answer}");
        assert!(asked.last().unwrap().starts_with(want_last), "{answer}: {asked:?}");
        assert_eq!(outcome.is_err(), want_asked == 10, "{answer}: {outcome:?}");
    }
    let (container, _) = server("HTTP/1.1 503 Sorry").await;
    let port = container.ports.as_ref().unwrap()[0].container_port;
    let here = Place { secure: false, host: "127.0.0.1".into(), port: 1, path: "/".into() };
    let whole =
        http::Response::builder().status(307).header("location", format!("http://127.0.0.1:{port}/then?y"));
    let next = here.redirected(&whole.body(()).unwrap()).unwrap();
    assert_eq!((i32::from(next.port), next.path.as_str()), (port, "/then?y"));
}

#[tokio::test]
async fn https_is_asked_whoever_signed_the_certificate() {
    let made = rcgen::generate_simple_self_signed(vec!["example.com".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let secure = container(listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        let mut buffer = [0; 1024];
        let _ = stream.read(&mut buffer).await;
        let _ = stream.write_all(b"HTTP/1.1 204 Fine\r\n\r\n").await;
    });
    let wanted = action(json!({ "scheme": "HTTPS" }));
    assert_eq!(probe(&secure, &wanted, PATIENCE).await, Ok(()));
    let (plain, _) = server("HTTP/1.1 200 OK").await;
    assert!(probe(&plain, &wanted, PATIENCE).await.is_err());
}
