//! A real Jupyter, begun by the very command that a workspace of its type has, through the portal.

use std::{path::Path, process::Stdio, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use maar_testkit::ports::free_port;
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
    time::timeout,
};

use super::{
    absent::absent,
    apps::{Visitor, desk, head, status},
    browser::Browser,
    paths,
    world::{World, eventually},
};

/// The versions that this was written with.
const PACKAGES: [&str; 2] = ["jupyterlab==4.6.6", "ipykernel==7.4.0"];

/// The system's own, which Pods of the local node see as well: the walk of the pages takes the folder into one
/// (web/e2e/jupyter.ts).
const PYTHON: &str = "/usr/bin/python3";

/// A folder with its programs, made once for a build; nothing where it cannot be had.
async fn programs() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jupyterlab");
    let python = folder.join("bin/python").display().to_string();
    let runs = async |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().await;
        output.is_ok_and(|output| output.status.success())
    };
    let install =
        [&["-m", "pip", "install", "--quiet", "--disable-pip-version-check"][..], &PACKAGES].concat();
    let done = folder.join("done");
    let made = done.exists()
        || (runs(PYTHON, &["-m", "venv", "--clear", &folder.display().to_string()]).await
            && runs(&python, &install).await
            && std::fs::write(done, "").is_ok());
    if !made {
        absent("jupyterlab (python3 and its packages)");
        return None;
    }
    Some(folder.join("bin").display().to_string())
}

/// What the Pod of a workspace of the type runs, on another port than all others.
async fn command(world: &World, browser: &Browser, port: u16) -> Vec<String> {
    let path = browser.workspace("lab", json!({ "type": "Jupyter" })).await;
    let namespace = path.split('/').nth(2).unwrap();
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), namespace);
    eventually("the Pod", async || pods.get_opt("lab").await.unwrap().is_some()).await;
    let pod = pods.get("lab").await.unwrap();
    let mut words = pod.spec.unwrap().containers.remove(0).command.unwrap();
    let own = words.iter_mut().find(|word| *word == "--ServerApp.port=8888").expect("it says its port");
    *own = format!("--ServerApp.port={port}");
    words
}

/// Begins it on this machine, whose loopback is that of Pods on the local node.
fn begin(words: &[String], programs: &str, home: &Path) -> Child {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_clear().current_dir(home).kill_on_drop(true);
    command.env("PATH", format!("{programs}:/usr/bin:/bin")).env("HOME", home).env("TMPDIR", home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The addresses that a page of JupyterLab tells its scripts.
fn told(page: &str) -> Value {
    let begin = page.find("id=\"jupyter-config-data\"").unwrap_or_else(|| panic!("no settings: {page}"));
    let text = page[begin..].split_once('>').unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn jupyter_of_the_type_begins_by_itself_and_works_below_a_path() {
    let Some(programs) = programs().await else { return };
    let Some(world) = World::local_with(paths::settings).await else { return };
    let (ada, port) = (world.user("ada").await, free_port());
    let words = command(&world, &ada, port).await;
    let path = desk(&ada, json!({})).await;
    let home = tempfile::tempdir().unwrap();
    let mut jupyter = begin(&words, &programs, home.path());
    let (visitor, prefix) = paths::opened(&world, &ada, &path, port).await;
    let at = |path: &str| format!("{prefix}{path}");
    eventually("Jupyter", async || visitor.status(&at("/api/status")).await == 200).await;
    assert!(jupyter.try_wait().unwrap().is_none(), "another listens there");

    let first = visitor.get(&at("/")).await;
    assert!(status(&first) == 302 && first.contains(&format!("{prefix}/lab")), "{first}");
    let page = visitor.get(&at("/lab")).await;
    assert_eq!(status(&page), 200, "{page}");
    let settings = told(&page);
    assert_eq!(settings["baseUrl"], json!(at("/")), "{settings}");
    let full: Vec<&str> = settings
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.starts_with("full"))
        .filter_map(|(_, value)| value.as_str())
        .filter(|value| value.starts_with('/'))
        .collect();
    assert!(full.len() > 5 && full.iter().all(|address| address.starts_with(&prefix)), "{full:?}");
    let script = page.split("src=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(script.starts_with(&prefix), "{script}");
    assert_eq!(visitor.status(script).await, 200, "{script}");
    let kernels = visitor.get(&at("/api/kernelspecs")).await;
    assert!(kernels.contains(&format!("{prefix}/kernelspecs/python3/")), "{kernels}");

    // Another visitor has another path, and is not told that of the first.
    let (other, second) = paths::opened(&world, &ada, &path, port).await;
    let settings = told(&other.get(&format!("{second}/lab")).await);
    assert_eq!(settings["baseUrl"], json!(format!("{second}/")));
    assert!(!settings.to_string().contains(&prefix), "{settings}");

    kernel(&visitor, &prefix).await;
    jupyter.start_kill().unwrap();
    jupyter.wait().await.unwrap();
}

/// A kernel is begun, as a page does it, and speaks by WebSocket.
async fn kernel(visitor: &Visitor, prefix: &str) {
    // The page has a cookie of Jupyter's own, which its scripts say again in a header.
    let page = visitor.get(&format!("{prefix}/lab")).await;
    let cookie = page.lines().find_map(|line| line.strip_prefix("set-cookie: _xsrf=")).unwrap();
    assert!(cookie.contains(&format!("Path={prefix}/")), "{cookie}");
    let xsrf = cookie.split(';').next().unwrap();
    let both = format!("{}; _xsrf={xsrf}", visitor.cookie.as_ref().unwrap());
    let known = Visitor { cookie: Some(both), ..visitor.at(visitor.address) };
    let origin = format!("Origin: http://{}\r\n", known.host);
    let body = r#"{"name":"python3"}"#;
    let more = format!(
        "{origin}X-XSRFToken: {xsrf}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = known.sends("POST", &format!("{prefix}/api/kernels"), &more).await;
    let answer = Visitor::rest(&mut stream).await;
    assert_eq!(status(&answer), 201, "{answer}");
    let id = answer.split("\"id\": \"").nth(1).unwrap().split('"').next().unwrap();
    let more = format!(
        "{origin}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    );
    let channels = format!("{prefix}/api/kernels/{id}/channels");
    let mut stream = known.switches(&channels, &more).await;
    let answer = head(&mut stream).await;
    assert_eq!(status(&answer), 101, "{answer}");
    // The state of the kernel comes unasked.
    let mut frame = [0; 2];
    timeout(Duration::from_secs(20), stream.read_exact(&mut frame)).await.expect("it speaks").unwrap();
}
