//! OpenSSH's own programs in a container of a real kubelet, which streams exec and port-forward through a real
//! kube-apiserver and containerd.
//!
//! Needs root, so `make real` offers it in its last stage (`MAAR_REAL_NODE`) and says so where it cannot.

use std::process::Stdio;

use maar_testkit::ports::free_port;
use serde_json::json;

use super::{
    lives::reaches,
    real::{desk, ends, user},
    socket::Socket,
    ssh::{Machine, echo, echoes, ended, good, reached, stops, text},
    ways::{finish, request},
    world::{World, eventually},
};

/// Made on the spot, of no registry: a minimal Debian without sshd and without an SFTP server.
const IMAGE: &str = "maar.local/debian:12";
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
fn node() -> String {
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
