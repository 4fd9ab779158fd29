//! OpenSSH's own programs, the browser's terminal and apps in containers of a real kubelet, which streams exec and
//! port-forward through a real kube-apiserver and containerd.
//!
//! Needs root, so `make real` offers it in its last stage (`MAAR_REAL_NODE`) and says so where it cannot.

use std::{process::Stdio, time::Duration};

use maar_testkit::ports::free_port;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::{
    apps,
    browser::Browser,
    lives::reaches,
    real::{desk, ends, user},
    socket::{Frame, Socket},
    ssh::{Machine, echo, echoes, ended, good, reached, stops, text},
    terminal,
    ways::{finish, request},
    world::{ORIGIN, PASSWORD, World, eventually},
};

/// Made on the spot, of no registry: a minimal Debian without sshd and without an SFTP server.
pub(crate) const IMAGE: &str = "maar.local/debian:12";
/// The port on which the container says back what it hears.
const ECHO: u16 = 7777;
const SERVER: &str = r#"$SIG{TERM} = sub { exit }; $SIG{CHLD} = "IGNORE";
my $all = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 7777, Listen => 5, ReuseAddr => 1) or die;
while (1) {
  my $one = $all->accept or next;
  next if fork;
  while (sysread($one, my $part, 65536)) { syswrite($one, $part) }
  exit;
}"#;

#[expect(clippy::disallowed_methods, reason = "tests learn of real clusters by the environment")]
pub(crate) fn node() -> String {
    std::env::var("MAAR_REAL_NODE").expect("make real names the node in it")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real node: make real"]
async fn openssh_is_in_a_real_container_with_commands_files_and_ports() {
    let world = World::real(|_| {}).await;
    let ada = user(&world, "ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    let command = json!(["perl", "-MIO::Socket::INET", "-e", SERVER]);
    let wanted = json!({ "image": IMAGE, "nodes": [node()], "command": command });
    let path = desk(&ada, wanted).await;
    reaches(&ada, &path, "Running").await;
    machine.adds_key(&ada).await;

    let output = machine.run("desk", "echo out; echo err >&2; exit 7").await;
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(7), "out\n"), "{output:?}");
    assert_eq!(text(&output.stderr), "err\n");
    let looks = ended(machine.ssh("desk", &["-tt"], &["stty size"]), b"").await;
    assert_eq!(text(&looks.stdout).trim(), "24 80", "{looks:?}");
    let shell =
        ended(machine.ssh("desk", &["-tt"], &[]), b"echo in:$(cat /etc/debian_version); exit 3\n").await;
    assert_eq!(shell.status.code(), Some(3), "{shell:?}");
    assert!(text(&shell.stdout).contains("in:12"), "{shell:?}");
    // The same without SSH: who types no more still reads what the program says.
    let program = ada.program(&ada.key("cli", &["workspaces:read", "workspaces:write"]).await.1);
    let late = "command=sh&command=-c&command=read%20a;sleep%201;echo%20said:$a;exit%204&stdin=true&tty=true";
    let asked = request(&program, &format!("{path}/exec?{late}"), "maar.exec.v1");
    let mut terminal = Socket::open(world.address, asked).await.unwrap();
    terminal.send(2, b"\0word\n").await;
    terminal.send(2, b"\0").await;
    let (out, _, end) = finish(&mut terminal).await;
    assert!(out.contains("said:word") && end["code"] == 4, "{out:?} {end}");

    let much: Vec<u8> = (0..12_000_000_u32).map(|number| number.to_le_bytes()[2]).collect();
    let output = ended(machine.ssh("desk", &[], &["cat"]), &much).await;
    assert!(output.status.success() && output.stdout == much, "{} bytes", output.stdout.len());
    std::fs::write(machine.path("much"), &much).unwrap();
    let port = machine.port.to_string();
    for (from, to) in [("much", "desk@127.0.0.1:/tmp/much"), ("desk@127.0.0.1:/tmp/much", "back")] {
        let mut scp = machine.program("scp");
        scp.args(["-P", &port, from, to]);
        good(&ended(scp, b"").await);
    }
    assert!(std::fs::read(machine.path("back")).unwrap() == much);
    let mut sftp = machine.program("sftp");
    sftp.args(["-P", &port, "-b", "-", "desk@127.0.0.1"]);
    let batch = b"cd /tmp\nmkdir d\nrename much d/more\nchmod 640 d/more\nls -l d\nrm d/more\nrmdir d\n";
    let said = good(&ended(sftp, batch).await);
    assert!(said.contains("-rw-r-----") && said.contains("more"), "{said}");

    let forward = |flag: &'static str, spec: &str| {
        let mut command = machine.ssh("desk", &["-N", "-o", "ExitOnForwardFailure=yes", flag, spec], &[]);
        command.stdin(Stdio::null()).spawn().unwrap()
    };
    let here = free_port();
    let local = forward("-L", &format!("{here}:localhost:{ECHO}"));
    let (first, second) = (reached(here).await, reached(here).await);
    tokio::join!(echoes(first), echoes(second));
    stops(local).await;
    let remote = forward("-R", &format!("7778:127.0.0.1:{}", echo().await));
    let asks = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/7778 && printf hello >&3 && head -c 5 <&3'";
    eventually("the port in the container", async || machine.run("desk", asks).await.stdout == b"hello")
        .await;
    stops(remote).await;

    assert_eq!(ada.delete(&path).await.0, 204);
    ends(world, &[&ada]).await;
}

/// A terminal that is ready.
async fn entered(world: &World, who: &Browser, place: &str) -> Socket {
    let mut screen = terminal::open(world, who, place).await.unwrap();
    let Frame::Text(ready) = screen.next().await else { panic!("ready comes first") };
    assert!(ready["ready"]["pod"].is_string(), "{ready}");
    screen
}

/// Ends at once when it is told to.
const RESTS: &str = "trap exit TERM; sleep 1d & wait";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real node: make real"]
async fn a_browser_is_in_a_real_container_leaves_it_and_comes_back() {
    let world = World::real(|settings| settings.look_again = Duration::from_millis(300)).await;
    let (ada, eve) = (user(&world, "ada").await, user(&world, "eve").await);
    let wanted = json!({ "image": IMAGE, "nodes": [node()], "command": ["sh", "-c", RESTS] });
    let path = desk(&ada, wanted).await;
    reaches(&ada, &path, "Running").await;
    let place = format!("{path}/terminal?columns=100&rows=30");
    let status = async |who: &Browser, origin| {
        Socket::open(world.address, terminal::request(who, &place, Some(origin))).await.err()
    };
    assert_eq!(status(&eve, ORIGIN).await, Some(404), "another user");
    assert_eq!(status(&world.admin().await, ORIGIN).await, Some(403), "an administrator");
    assert_eq!(status(&ada, "https://evil.example").await, Some(403), "a page of somebody else");

    let mut screen = entered(&world, &ada, &place).await;
    screen.types("echo in:$(cat /etc/debian_version)\n").await;
    screen.shows("in:12").await;
    // The size is another message than what is typed, so it is asked for until it has arrived.
    for (size, word) in [("30 100", "first"), ("44 133", "second")] {
        let (begin, end) = word.split_at(2);
        let waits =
            format!("while [ \"$(stty size)\" != '{size}' ]; do sleep 0.05; done; echo {begin}''{end}\n");
        screen.types(&waits).await;
        screen.shows(&format!("{word}\r\n")).await;
        screen.says(r#"{"resize":{"columns":133,"rows":44}}"#).await;
    }
    screen.types("echo le''ft > /tmp/note; echo do''ne\n").await;
    screen.shows("done\r\n").await;
    // The browser is gone without a word, and comes back: files are where they were, and what ran in the terminal has heard of it.
    screen.types("sh -c 'echo beg\"\"un; exec sleep 98765'\n").await;
    screen.shows("begun\r\n").await;
    drop(screen);
    let mut screen = entered(&world, &ada, &place).await;
    screen.types("cat /tmp/note\n").await;
    screen.shows("left\r\n").await;
    screen.types("while grep -qs '9876[5]' /proc/[0-9]*/cmdline; do sleep 0.1; done; echo al''one\n").await;
    screen.shows("alone\r\n").await;
    eventually("the end in the log", async || !terminal::audited(&world, "closeTerminal").await.is_empty())
        .await;
    screen.types("exit 5\n").await;
    assert_eq!(screen.end().await["code"], 5);
    // Who signs out is out of it.
    let again = world.browser();
    assert_eq!(again.login(&format!("ada-{}", std::process::id()), PASSWORD).await.0, 200);
    let mut screen = entered(&world, &again, &place).await;
    screen.types("echo $((6*7))\n").await;
    screen.shows("42\r\n").await;
    assert_eq!(again.call("POST", "/logout", None).await.0, 204);
    assert!(screen.end().await["message"].as_str().unwrap().contains("session"));
    ends(world, &[&ada]).await;
}

/// A page that says who asked for what, and how much came with it.
const PAGE: &str = r#"$SIG{TERM} = sub { exit }; $SIG{CHLD} = "IGNORE";
my $all = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 8888, Listen => 5, ReuseAddr => 1) or die;
while (1) {
  my $one = $all->accept or next;
  next if fork;
  my ($first, $length, $read) = (scalar <$one>, 0, 0);
  while (my $line = <$one>) { last if $line eq "\r\n"; $length = $1 if $line =~ /^content-length: (\d+)/i }
  while ($read < $length) { my $got = read($one, my $part, 65536 < $length - $read ? 65536 : $length - $read) or last; $read += $got }
  my $body = "perl says: $first$read bytes";
  print $one "HTTP/1.1 200 OK\r\nContent-Length: " . length($body) . "\r\nConnection: close\r\n\r\n$body";
  exit;
}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real node: make real"]
async fn an_app_of_a_job_in_a_real_container_is_opened_by_its_owner() {
    let world = World::real(apps::settings).await;
    let (ada, eve) = (user(&world, "ada").await, user(&world, "eve").await);
    let template = json!({ "spec": {
        "containers": [{ "name": "main", "image": IMAGE, "command": ["perl", "-MIO::Socket::INET", "-e", PAGE] }],
        "nodeSelector": { "kubernetes.io/hostname": node() },
    } });
    let job = json!({ "metadata": { "name": "lab" }, "spec": { "type": "Jupyter",
        "tasks": [{ "name": "main", "replicas": 1, "template": template }] } });
    let (code, made) = ada.post("/jobs", job).await;
    assert_eq!(code, 201, "{made}");
    let path = format!("/jobs/{}/lab", ada.namespace().await);
    reaches(&ada, &path, "Running").await;
    let (_, list) = ada.get(&format!("{path}/ports")).await;
    assert_eq!((&list["items"][0]["port"], &list["served"]), (&json!(8888), &json!(true)), "{list}");
    assert_eq!(eve.post(&format!("{path}/ports/8888/open"), json!({})).await.0, 404);
    let visitor = apps::opened(&world, &ada, &path, 8888).await;
    eventually("the page", async || visitor.status("/").await == 200).await;
    let page = visitor.get("/lab?a=b").await;
    assert!(page.contains("perl says: GET /lab?a=b HTTP/1.1"), "{page}");
    let much = vec![b'a'; 4 << 20];
    let mut stream = visitor.sends("POST", "/up", &format!("Content-Length: {}\r\n", much.len())).await;
    stream.write_all(&much).await.unwrap();
    let answer = apps::Visitor::rest(&mut stream).await;
    assert!(answer.ends_with(&format!("{} bytes", much.len())), "{answer}");
    let stranger = apps::Visitor { cookie: None, ..visitor.at(world.address) };
    assert_eq!(stranger.status("/").await, 401, "who has no cookie");

    // Into the Pod of a job as into a workspace.
    let mut screen = entered(&world, &ada, &format!("{path}/terminal?columns=80&rows=24")).await;
    screen.types("echo job:$((6*7))\n").await;
    screen.shows("job:42\r\n").await;
    assert_eq!(ada.post(&format!("{path}/cancel"), json!({})).await.0, 204);
    assert!(screen.end().await.is_object());
    eventually("the end of the app", async || visitor.status("/").await == 409).await;
    ends(world, &[&ada]).await;
}
