//! Apps where there is no domain for them: `maar portal --apps-listen --apps-url`, as an administrator runs it.

use std::{path::Path, process::Stdio, time::Duration};

use maar_testkit::ports::free_port;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

use super::{change_password, local_node_is_offered, maar, says, up};

/// What is answered on a port of this machine.
async fn ask(port: u16, line: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("{line} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line = answer.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("{answer}")).split_once(": ").unwrap().1
}

/// A program that listens on this machine's loopback, which is that of Pods on the local node.
async fn program() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = vec![0; 4096];
            let length = stream.read(&mut asked).await.unwrap();
            let text = format!("an app was asked: {}", String::from_utf8_lossy(&asked[..length]));
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
            stream.write_all(format!("{head}{text}").as_bytes()).await.unwrap();
        }
    });
    port
}

fn portal(here: &Path, listen: u16, apps: u16, url: &str) -> Command {
    let (records, origin) =
        (format!("sqlite://{}/records.db", here.display()), format!("http://127.0.0.1:{listen}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_maar"));
    command
        .args(["portal", "--kubeconfig", ".maar/kubeconfig", "--records", &records])
        .args(["--listen", &format!("127.0.0.1:{listen}"), "--external-url", &origin])
        .args(["--apps-listen", &format!("127.0.0.1:{apps}"), "--apps-url", url])
        .args(["--admin-password-file", "password", "--metrics-address", "127.0.0.1:0"])
        .args(["--health-address", "127.0.0.1:0"])
        .current_dir(here)
        .kill_on_drop(true);
    command
}

/// A portal that answers.
async fn serving(mut command: Command, listen: u16) -> Child {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let listening = async {
        while TcpStream::connect(("127.0.0.1", listen)).await.is_err() {
            assert!(child.try_wait().unwrap().is_none(), "the portal has ended");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), listening).await.unwrap();
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_opened_below_a_path_of_a_listener_of_its_own() {
    if !local_node_is_offered().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (_cluster, _, _) = up(here).await;
    std::fs::write(here.join("password"), "told by the administrator\n").unwrap();
    let (listen, apps) = (free_port(), free_port());
    let own = portal(here, listen, apps, &format!("http://127.0.0.1:{apps}")).output().await.unwrap();
    let why = String::from_utf8_lossy(&own.stderr).into_owned();
    assert!(!own.status.success() && why.contains("--apps-url") && why.contains("another host"), "{why}");

    let url = format!("http://localhost:{apps}");
    let _portal = serving(portal(here, listen, apps, &url), listen).await;
    let address = format!("http://127.0.0.1:{listen}");
    let cookie = change_password(&address, "told by the administrator").await;
    let login = ["login", &address, "--user", "admin", "--password-stdin"];
    assert!(maar(here, &login, "correct horse battery\n").await.status.success());
    let create =
        ["ws", "create", "desk", "--image", "none", "--node", "local", "--wait", "--", "sleep", "1d"];
    assert!(says(here, &create).await.contains("Running"));
    let list: Value = serde_json::from_str(&says(here, &["ws", "list", "-o", "json"]).await).unwrap();
    let namespace = list["items"][0]["namespace"].as_str().unwrap();

    let line = format!("POST /api/v1/workspaces/{namespace}/desk/ports/{}/open", program().await);
    let headers = format!(
        "host: 127.0.0.1:{listen}\r\norigin: {address}\r\ncookie: {cookie}\r\nx-maar-request: 1\r\ncontent-length: 0\r\n"
    );
    let answer = ask(listen, &line, &headers).await;
    let said: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let way_in = said["url"].as_str().unwrap().strip_prefix(&url).unwrap_or_else(|| panic!("{said}"));
    let host = format!("host: localhost:{apps}\r\n");
    let entered = ask(apps, &format!("GET {way_in}"), &host).await;
    assert!(entered.starts_with("HTTP/1.1 303"), "{entered}");
    let (place, own) = (header(&entered, "location"), header(&entered, "set-cookie"));
    let own = own.split(';').next().unwrap();
    let shown = ask(apps, &format!("GET {place}lab"), &format!("{host}cookie: {own}\r\n")).await;
    assert!(shown.starts_with("HTTP/1.1 200") && shown.contains("an app was asked: GET /lab "), "{shown}");
    let status = async |port, line: &str, headers: &str| {
        ask(port, line, headers).await.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(apps, &format!("GET {place}lab"), &host).await, "401", "the path alone");
    assert_eq!(status(apps, &format!("GET {way_in}"), &host).await, "401", "a link is good once");
    assert_eq!(
        status(apps, "GET /api/v1/me", &format!("{host}cookie: {cookie}\r\n")).await,
        "404",
        "no portal"
    );
    let beside = format!("host: 127.0.0.1:{listen}\r\ncookie: {own}\r\n");
    let shown = ask(listen, &format!("GET {place}lab"), &beside).await;
    assert!(!shown.contains("an app was asked"), "no app beside the portal: {shown}");
}
