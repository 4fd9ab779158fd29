//! Pods on the local node, where containers are processes of this machine.

use maar_testkit::ports::free_port;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::kubectl::Kubectl;

/// A Pod on the local node that runs this line of shell.
fn pod(name: &str, line: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeName": "local",
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "main", "image": "none", "stdin": true, "command": ["/bin/sh", "-c", line],
            }],
        },
    })
    .to_string()
}

async fn run(kubectl: &Kubectl, line: &str) {
    kubectl.apply(&pod("here", line)).await;
    kubectl.ok("wait --for=condition=Ready pod/here --timeout=30s").await;
}

pub(super) async fn logs_are_followed(kubectl: Kubectl) {
    // The container goes on when it is told to, so that the test decides what comes when.
    run(&kubectl, "echo first; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo second; exec sleep 100")
        .await;
    let mut following = kubectl.start("logs -f here");
    following.until("first").await;
    kubectl.ok("exec here -- touch /tmp/go").await;
    following.until("second").await;
    kubectl.is("logs here --tail=1", "second").await;
}

pub(super) async fn exec_runs_a_command(kubectl: Kubectl) {
    run(&kubectl, "exec sleep 100").await;
    kubectl.is("exec here -- sh -c 'echo out; echo err >&2'", "out").await;
    let said = kubectl.run("exec here -- sh -c 'exit 7'").await;
    assert!(!said.success && said.err.contains("exit code 7"), "{said:?}");
    assert_eq!(kubectl.feed("exec -i here -- tr a-z A-Z", "shout").await, "SHOUT");
    kubectl.refused("exec here -- /no/such/program", "/no/such/program").await;
    for websockets in ["true", "false"] {
        let said = kubectl
            .run_with(&[("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)], "exec here -- echo hello")
            .await;
        assert_eq!(said.out.trim(), "hello", "{said:?}");
    }
}

pub(super) async fn exec_gives_a_terminal(kubectl: Kubectl) {
    run(&kubectl, "exec sleep 100").await;
    // The size of the terminal arrives a moment after the command has begun.
    let line = "until [ \"$(stty size)\" = '30 100' ]; do sleep 0.1; done; echo sized; read word; echo got $word; exit 3";
    kubectl.write("session.sh", line);
    kubectl.ok("cp session.sh here:/tmp/session.sh").await;
    let mut terminal = kubectl.in_terminal("exec -it here -- sh /tmp/session.sh");
    terminal.sees("sized").await;
    terminal.types("it\n").await;
    terminal.sees("got it").await;
    assert_eq!(terminal.code().await, Some(3));
    // Ctrl-C ends what runs in the shell, and not the shell.
    let mut terminal = kubectl.in_terminal("exec -it here -- sh");
    // A command of its own says that it runs: when it does, the terminal is its.
    terminal.types("sh -c \"echo be''gun; exec sleep 100\"\n").await;
    terminal.sees("begun").await;
    terminal.types("\u{3}").await;
    terminal.types("echo st''ill there\n").await;
    terminal.sees("still there").await;
    terminal.types("exit 3\n").await;
    assert_eq!(terminal.code().await, Some(3));
}

pub(super) async fn attach_joins_a_process(kubectl: Kubectl) {
    run(&kubectl, "while read line; do echo \"heard $line\"; done").await;
    let mut attached = kubectl.start("attach -i here");
    attached.types("knock\n").await;
    attached.until("heard knock").await;
}

pub(super) async fn files_are_copied_both_ways(kubectl: Kubectl) {
    run(&kubectl, "exec sleep 100").await;
    kubectl.write("there.txt", "carried");
    kubectl.ok("cp there.txt here:/tmp/there.txt").await;
    kubectl.is("exec here -- cat /tmp/there.txt", "carried").await;
    kubectl.ok("cp here:/tmp/there.txt back.txt").await;
    assert_eq!(std::fs::read_to_string(kubectl.folder.join("back.txt")).unwrap(), "carried");
    std::fs::create_dir(kubectl.folder.join("tree")).unwrap();
    kubectl.write("tree/leaf", "green");
    kubectl.ok("cp tree here:/tmp/tree").await;
    kubectl.is("exec here -- cat /tmp/tree/leaf", "green").await;
}

/// A Pod that answers HTTP on a port of this machine, and that port.
async fn web(kubectl: &Kubectl) -> u16 {
    // Asking for a free port and letting it go again may lose it to somebody else; the next case has another.
    let port = free_port();
    run(
        kubectl,
        &format!("mkdir /tmp/www && cd /tmp/www && echo served > page && exec python3 -m http.server --bind 127.0.0.1 {port}"),
    )
    .await;
    let answers = format!(
        "exec here -- python3 -c \"import socket,time
for _ in range(100):
  try: socket.create_connection(('127.0.0.1',{port})); break
  except OSError: time.sleep(0.1)\""
    );
    kubectl.ok(&answers).await;
    port
}

async fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

pub(super) async fn ports_are_forwarded(kubectl: Kubectl) {
    let port = web(&kubectl).await;
    let mut forwarding = kubectl.start(&format!("port-forward pod/here :{port}"));
    let line = forwarding.until("Forwarding from 127.0.0.1:").await;
    let near =
        line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    for _ in 0..3 {
        let answer = get(near, "/page").await;
        assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("served\n"), "{answer}");
    }
}

pub(super) async fn run_stays_attached(kubectl: Kubectl) {
    let overrides = r#"{"spec":{"nodeName":"local","terminationGracePeriodSeconds":1}}"#;
    let line = format!(
        "run once --rm -i --restart=Never --image=none --overrides='{overrides}' --override-type=merge --command -- sh -c 'read line; echo \"got $line\"'"
    );
    let out = kubectl.feed(&line, "it\n").await;
    assert!(out.contains("got it"), "{out}");
    kubectl.ok("wait --for=delete pod/once --timeout=20s").await;
}

/// HTTP through the API server: to a Pod, to a Service that stands for it, and to a node.
pub(super) async fn proxies_reach_pods_services_and_nodes(kubectl: Kubectl) {
    let port = web(&kubectl).await;
    let place = format!("/api/v1/namespaces/{}", kubectl.namespace);
    kubectl.is(&format!("get --raw {place}/pods/here:{port}/proxy/page"), "served").await;
    kubectl.is(&format!("get --raw {place}/pods/http:here:{port}/proxy/page?query=1"), "served").await;
    kubectl.refused(&format!("get --raw {place}/pods/here:{port}/proxy/none"), "not find").await;
    kubectl.refused(&format!("get --raw {place}/pods/here:1/proxy/"), "error trying to reach service").await;
    kubectl
        .refused(&format!("get --raw {place}/pods/https:here:{port}/proxy/"), "does not support proxies")
        .await;

    kubectl.refused(&format!("get --raw {place}/services/web/proxy/"), "not found").await;
    kubectl.ok(&format!("expose pod here --name=web --port=80 --target-port={port}")).await;
    kubectl.is(&format!("get --raw {place}/services/web:80/proxy/page"), "served").await;
    kubectl.refused(&format!("get --raw {place}/services/web:81/proxy/page"), "no service port 81").await;

    kubectl.is("get --raw /api/v1/nodes/local/proxy/healthz", "ok").await;
    kubectl.shows("get --raw /api/v1/nodes/gpu-0:10250/proxy/stats/summary", "gpu-0").await;
}

pub(super) async fn kubectl_proxy_serves_a_browser(kubectl: Kubectl) {
    let port = web(&kubectl).await;
    let mut serving = kubectl.start("proxy --port=0");
    let line = serving.until("Starting to serve on 127.0.0.1:").await;
    let near = line.rsplit(':').next().unwrap().parse().unwrap();
    assert!(get(near, "/version").await.contains("gitVersion"));
    let page = format!("/api/v1/namespaces/{}/pods/here:{port}/proxy/page", kubectl.namespace);
    let answer = get(near, &page).await;
    assert!(answer.contains(" 200 ") && answer.ends_with("served\n"), "{answer}");
    // A folder without its slash is a redirect of the backend, which has to lead back through the proxy.
    kubectl.ok("exec here -- mkdir /tmp/www/folder").await;
    let folder = page.replace("/page", "/folder");
    let answer = get(near, &folder).await;
    assert!(answer.contains(&format!("{folder}/")), "{answer}");
}

/// A server that switches to a protocol of its own and sends everything back.
const ECHO: &str = "import socket, sys
server = socket.create_server(('127.0.0.1', int(sys.argv[1])))
print('listening', flush=True)
connection, _ = server.accept()
head = b''
while b'\\r\\n\\r\\n' not in head: head += connection.recv(4096)
assert b'Authorization' not in head
connection.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n')
while True:
  data = connection.recv(4096)
  if not data: break
  connection.sendall(data)
";

pub(super) async fn proxies_pass_upgrades_on(kubectl: Kubectl) {
    run(&kubectl, "exec sleep 100").await;
    kubectl.write("echo.py", ECHO);
    kubectl.ok("cp echo.py here:/tmp/echo.py").await;
    let port = free_port();
    let mut server = kubectl.start(&format!("exec here -- python3 /tmp/echo.py {port}"));
    server.until("listening").await;
    let mut serving = kubectl.start("proxy --port=0");
    let line = serving.until("Starting to serve on 127.0.0.1:").await;
    let near: u16 = line.rsplit(':').next().unwrap().parse().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", near)).await.unwrap();
    let path = format!("/api/v1/namespaces/{}/pods/here:{port}/proxy/", kubectl.namespace);
    let head = "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{head}").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream);
    let mut heading = String::new();
    while !heading.ends_with("\r\n\r\n") {
        assert_ne!(lines.read_line(&mut heading).await.unwrap(), 0, "{heading}");
    }
    assert!(heading.starts_with("HTTP/1.1 101"), "{heading}");
    lines.write_all(b"there and back\n").await.unwrap();
    let mut echoed = String::new();
    lines.read_line(&mut echoed).await.unwrap();
    assert_eq!(echoed, "there and back\n");
}
