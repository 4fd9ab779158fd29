//! What editors do over SSH: one connection that runs a shell without a terminal, feeds it a script, leaves a server
//! behind, and reaches it by a SOCKS proxy (VS Code's Remote-SSH), by OpenSSH's own ssh. What else runs for a client that
//! vanishes ends, also where the kubelet does nothing for that.

use std::{process::Stdio, time::Duration};

use maar_testkit::ports::free_port;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::Child,
    time::timeout,
};

use super::{
    absent::absent,
    lives::reaches,
    ssh::{Machine, echoes, reached, stops},
    world::{World, eventually},
};

/// Says back what it hears, for ever.
const SERVER: &str = r#"$SIG{CHLD} = "IGNORE";
my $all = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $ARGV[0], Listen => 5) or die;
$| = 1; print "listens\n";
while (1) {
  my $one = $all->accept or next;
  next if fork;
  while (sysread($one, my $part, 65536)) { syswrite($one, $part) }
  exit;
}
"#;

/// As the script of an editor does it: begins the server unless it runs, with `before` before it, says where it is, and stays
/// until its input ends.
fn script(before: &str, port: u16) -> String {
    format!(
        "echo $$ >/tmp/shell.pid\n\
         if ! kill -0 \"$(cat /tmp/server.pid 2>/dev/null)\" 2>/dev/null; then\n\
         cat >/tmp/server.pl <<'END'\n{SERVER}END\n\
         {before} perl -MIO::Socket::INET /tmp/server.pl {port} </dev/null >/tmp/server.log 2>&1 &\n\
         echo $! >/tmp/server.pid\nfi\n\
         until grep -q listens /tmp/server.log; do sleep 0.05; done\n\
         echo \"listening on {port} as $(cat /tmp/server.pid)\"\nread -r last; echo \"last: $last\"\n"
    )
}

/// A shell that was fed the script, and what it says of the server.
async fn connected(machine: &Machine, socks: u16, script: &str) -> (Child, String) {
    let mut command = machine.ssh("desk", &["-T", "-D", &socks.to_string()], &["bash"]);
    let mut ssh = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let said = answers(&mut ssh, script).await;
    (ssh, said)
}

/// What the shell says next when it is told this.
async fn answers(ssh: &mut Child, text: &str) -> String {
    ssh.stdin.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(ssh.stdout.as_mut().unwrap()).lines();
    let said = timeout(Duration::from_mins(1), lines.next_line()).await.expect("it answers").unwrap();
    said.expect("the shell goes on")
}

/// A connection to a port of the workspace by the SOCKS proxy, with a name for the host as editors send it.
async fn by_socks(socks: u16, host: &str, port: u16) -> TcpStream {
    let mut stream = reached(socks).await;
    stream.write_all(&[5, 1, 0]).await.unwrap();
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, [5, 0]);
    let mut asks = vec![5, 1, 0, 3, u8::try_from(host.len()).unwrap()];
    asks.extend(host.bytes().chain(port.to_be_bytes()));
    stream.write_all(&asks).await.unwrap();
    let mut answer = [0; 10];
    timeout(Duration::from_secs(20), stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer[..2], [5, 0], "{answer:?}");
    stream
}

/// The server is reached, outlives the connection that began it, and is found again by the next.
async fn comes_back(machine: &Machine, before: &str) {
    let (socks, port) = (free_port(), free_port());
    let script = script(before, port);
    let (first, said) = connected(machine, socks, &script).await;
    assert!(said.starts_with(&format!("listening on {port} as ")), "{said}");
    for host in ["127.0.0.1", "localhost"] {
        echoes(by_socks(socks, host, port).await).await;
    }
    // The machine is closed, or the network is gone.
    stops(first).await;
    let over = "! kill -0 \"$(cat /tmp/shell.pid)\"";
    eventually("the end of the shell", async || machine.run("desk", over).await.status.success()).await;
    let (mut again, same) = connected(machine, socks, &script).await;
    assert_eq!(same, said, "the server is the one that was left there");
    echoes(by_socks(socks, "127.0.0.1", port).await).await;
    assert_eq!(answers(&mut again, "word\n").await, "last: word");
    stops(again).await;
    machine.run("desk", "kill \"$(cat /tmp/server.pid)\"").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_editor_leaves_a_server_behind_and_finds_it_again() {
    if !["/usr/bin/perl", "/usr/bin/setsid"].iter().all(|program| std::path::Path::new(program).exists()) {
        return absent("perl and setsid: no server was left behind by SSH");
    }
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    let path = ada.workspace("desk", json!({ "nodes": ["local"], "command": ["sleep", "1d"] })).await;
    reaches(&ada, &path, "Running").await;
    machine.adds_key(&ada).await;
    // The local node takes all of a group of processes with the connection.
    comes_back(&machine, "setsid").await;
}

mod container {
    //! In a container of a real kubelet, for which the end of a connection is no reason to end anything.

    use super::{
        super::{
            container::{IMAGE, node},
            real::{desk, ends, user},
        },
        *,
    };

    /// Whether a program runs that sleeps for so long.
    async fn sleeps(machine: &Machine, seconds: &str) -> bool {
        let (first, rest) = seconds.split_at(1);
        let look = format!("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q 'sleep [{first}]{rest}'");
        machine.run("desk", &look).await.status.success()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs a real node: make real"]
    async fn who_vanishes_leaves_nothing_behind_but_servers() {
        let world = World::real(|_| {}).await;
        let ada = user(&world, "ada").await;
        let Some(machine) = Machine::new(&world, &ada).await else { return };
        let path = desk(&ada, json!({ "image": IMAGE, "nodes": [node()] })).await;
        reaches(&ada, &path, "Running").await;
        machine.adds_key(&ada).await;
        for (number, (before, command)) in [
            (&[][..], "sleep SECONDS"),
            (&[][..], "cd /tmp && { sleep SECONDS; echo late; }"),
            (&["-tt"][..], "sleep SECONDS"),
            // A shell with a job in a group of its own.
            (&["-tt"][..], "bash -ic 'set -m; sleep SECONDS & wait'"),
        ]
        .into_iter()
        .enumerate()
        {
            let seconds = format!("9876{number}");
            let line = command.replace("SECONDS", &seconds);
            let mut ssh = machine.ssh("desk", before, &[&line]);
            let ssh = ssh.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            eventually(&format!("{command} begins"), async || sleeps(&machine, &seconds).await).await;
            stops(ssh).await;
            eventually(&format!("{command} ends"), async || !sleeps(&machine, &seconds).await).await;
        }
        // Who says that he stays is left alone.
        machine.run("desk", "nohup sleep 98769 >/dev/null 2>&1 &").await;
        comes_back(&machine, "").await;
        assert!(sleeps(&machine, "98769").await);
        assert_eq!(ada.delete(&path).await.0, 204);
        ends(world, &[&ada]).await;
    }
}
