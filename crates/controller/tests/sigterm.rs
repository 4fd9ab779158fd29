//! A whole process: servers, a role, a real SIGTERM. In a file of its own, because the signal reaches every test of the
//! process it is sent to.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    process::{Command, id},
    time::Duration,
};

use http::{Request, Response};
use kube::{Client, client::Body};
use maar_controller::{
    Environment, Role, RoleConfig, health::Patience, process::Process, signal::shutdown_on_signal,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;
use tower::service_fn;

/// A cluster that is not needed here.
fn nowhere() -> Client {
    Client::new(
        service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Body::empty())) }),
        "default",
    )
}

async fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").await?.local_addr()
}

async fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn sigterm_ends_work_first_and_servers_last() {
    let (metrics, health) = (free_address().await.unwrap(), free_address().await.unwrap());
    let process = Process {
        client: nowhere(),
        environment: Environment::real(),
        metrics_address: Some(metrics),
        health_address: Some(health),
        log_level: None,
        config: RoleConfig { identity: "a".into(), election: None, drain: Duration::from_secs(10) },
    };
    let (report, mut reports) = mpsc::channel(2);
    let role = Role::new("test").task("loop", move |context| {
        let report = report.clone();
        async move {
            let patience =
                Patience { failing: Duration::ZERO, silence: Duration::MAX, hanging: Duration::from_mins(1) };
            let check = context.environment.health.check("loop", patience);
            check.ok("turning");
            report.send(String::new()).await?;
            context.shutdown.cancelled().await;
            check.fail("stopping");
            // The servers must still answer while work is ending.
            let answer = get(health, "/readyz").await.unwrap();
            report.send(answer).await
        }
    });
    let shutdown = CancellationToken::new();
    shutdown_on_signal(shutdown.clone()).unwrap();
    let process = tokio::spawn(process.run(vec![role], shutdown));
    reports.recv().await.unwrap();
    assert!(get(health, "/readyz?verbose").await.unwrap().contains("[+] loop: turning"));
    assert!(get(metrics, "/metrics").await.unwrap().contains("# EOF"));

    let sent = Command::new("kill").args(["-TERM", &id().to_string()]).status().unwrap();
    assert!(sent.success());
    let while_stopping = reports.recv().await.unwrap();
    assert!(
        while_stopping.contains("503") && while_stopping.contains("[-] loop: stopping"),
        "{while_stopping}"
    );
    process.await.unwrap().unwrap();
    assert!(TcpStream::connect(health).await.is_err(), "the servers ended too");
}
