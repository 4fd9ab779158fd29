//! OpenSSH's own agent, asked by programs in a workspace.

use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use maar_controller::{Environment, RoleConfig, clock::SharedClock, process::Process};
use maar_portal::{Clients, Entropy, Portal, Settings, SshKeys, SshSettings, role, with_ssh};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    process::{Child, Command},
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Machine, absent, clock_now, desk, ended, eventually, good, stops, write_private};
use crate::world::{ORIGIN, World};

/// Says where the agent is, if one is there.
const WHERE: &str = "echo ${SSH_AUTH_SOCK:-none}";

/// An agent with a key, for as long as it is held.
struct Agent {
    socket: PathBuf,
    /// How its key is known.
    fingerprint: String,
    #[expect(dead_code, reason = "held for what dropping it does")]
    program: Child,
}

impl Agent {
    /// Nothing where there is none.
    async fn new(machine: &Machine) -> Option<Self> {
        let socket = machine.path("agent");
        let mut command = Command::new("ssh-agent");
        command.arg("-D").arg("-a").arg(&socket).stdout(Stdio::null()).kill_on_drop(true);
        let Ok(program) = command.spawn() else {
            absent("ssh-agent (openssh-client)");
            return None;
        };
        eventually("the agent", async || socket.exists()).await;
        machine.keygen(&["-q", "-t", "ed25519", "-N", "", "-C", "of-the-agent", "-f", "held"]).await;
        let mut add = Command::new("ssh-add");
        add.arg("-q").arg(machine.path("held")).env("SSH_AUTH_SOCK", &socket);
        good(&ended(add, b"").await);
        let mut show = Command::new("ssh-keygen");
        show.args(["-l", "-f"]).arg(machine.path("held.pub"));
        let shown = good(&ended(show, b"").await);
        let fingerprint = shown.split(' ').nth(1).unwrap().to_owned();
        Some(Self { socket, fingerprint, program })
    }
}

/// Another gateway to the same workspaces, which forwards agents; its port.
async fn forwarding(world: &World) -> (u16, DropGuard) {
    let (settings, clock) = (Settings::at(vec![ORIGIN.to_owned()]), Arc::clone(&world.clock) as SharedClock);
    let clients = Clients::from(world.own.clone());
    let portal = Portal::new(settings, clients, world.records.clone(), clock, Entropy::system()).unwrap();
    let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ssh = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = ssh.local_addr().unwrap().port();
    let settings = SshSettings { agent_forwarding: true, ..SshSettings::at("127.0.0.1", port) };
    portal.prepare_ssh(settings, SshKeys::default()).await.unwrap();
    let served = with_ssh(role(Arc::clone(&portal), http), Arc::clone(&portal), ssh);
    let process = Process {
        client: world.own.clone(),
        environment: Environment::real(),
        metrics_address: None,
        health_address: None,
        log_level: None,
        config: RoleConfig { identity: "other".to_owned(), election: None, drain: Duration::from_secs(1) },
    };
    let stop = CancellationToken::new();
    tokio::spawn(process.run(vec![served], stop.clone()));
    timeout(Duration::from_secs(20), portal.ready()).await.unwrap();
    (port, stop.drop_guard())
}

/// Waits until the folder of a socket in the workspace is gone.
async fn goes(machine: &Machine, socket: &str) {
    let folder = socket.strip_suffix("/socket").unwrap();
    // There: tries to come in are counted.
    let look = format!(
        "for round in $(seq 300); do test -e {folder} || exit 0; sleep 0.1; done; ls -la {folder}; exit 1"
    );
    good(&machine.run("desk", &look).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_in_a_workspace_ask_the_agent_of_who_is_connected() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(mut machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    machine.adds_key(&ada).await;
    let Some(agent) = Agent::new(&machine).await else { return };
    machine.agent = Some(agent.socket.clone());
    let (port, _forwarding) = forwarding(&world).await;
    machine.port = port;

    let look = "ssh-add -l; cat > held.pub; ssh-add -T held.pub && echo signed; rm held.pub\n\
                stat -c %a \"${SSH_AUTH_SOCK%/socket}\" \"$SSH_AUTH_SOCK\"; echo $SSH_AUTH_SOCK";
    let public = std::fs::read(machine.path("held.pub")).unwrap();
    let seen = good(&ended(machine.ssh("desk", &["-A"], &[look]), &public).await);
    let lines: Vec<&str> = seen.lines().collect();
    let [key, "signed", "700", "600", socket] = lines[..] else { panic!("{seen}") };
    assert!(key.contains(&agent.fingerprint) && key.contains("of-the-agent"), "{key}");
    goes(&machine, socket).await;

    // A shell with a screen has it, too.
    let shell = ended(machine.ssh("desk", &["-A", "-tt"], &[]), b"ssh-add -l; exit\n").await;
    assert!(good(&shell).contains(&agent.fingerprint), "{shell:?}");

    // Who vanishes leaves nothing behind.
    let mut command = machine.ssh("desk", &["-A"], &["echo $SSH_AUTH_SOCK; sleep 600"]);
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(client.stdout.take().unwrap()).lines();
    let socket = timeout(Duration::from_secs(30), said.next_line()).await.unwrap().unwrap().unwrap();
    assert!(machine.run("desk", &format!("test -S {socket}")).await.status.success(), "{socket}");
    stops(client).await;
    goes(&machine, &socket).await;

    eventually("what is written down", async || {
        let (_, log) = world.admin().await.get("/audit?action=closeSsh").await;
        let ends = log["items"].as_array().unwrap().clone();
        let told = |so: bool| ends.iter().any(|end| end["after"]["agentForwarded"] == json!(so));
        told(true) && told(false)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_stays_at_home_unless_it_is_switched_on_and_asked_for() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(mut machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    let key = machine.adds_key(&ada).await;
    let Some(agent) = Agent::new(&machine).await else { return };
    machine.agent = Some(agent.socket.clone());
    let own = format!("SetEnv=SSH_AUTH_SOCK={}", agent.socket.display());
    let says = async |machine: &Machine, before: &[&str]| {
        good(&ended(machine.ssh("desk", before, &[WHERE]), b"").await)
    };
    assert_eq!(says(&machine, &["-A"]).await, "none\n", "it is off unless somebody says otherwise");
    let (port, _forwarding) = forwarding(&world).await;
    machine.port = port;
    assert_eq!(says(&machine, &[]).await, "none\n", "nobody asked");
    assert_eq!(says(&machine, &["-o", &own]).await, "none\n", "nobody says where it is but the gateway");
    let shown = says(&machine, &["-A", "-o", &own]).await;
    assert!(shown.ends_with("/socket\n"), "{shown}");

    assert_eq!(ada.delete(&format!("/ssh-keys/{key}")).await.0, 204, "from here on a certificate opens");
    machine.is_certified(&ada).await;
    assert_ne!(says(&machine, &["-A"]).await, "none\n");
    let id = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let ours = world.records.secret("ssh-authority", "none", clock_now()).await.unwrap();
    let named = machine.key_id().await;
    write_private(&machine.path("ours"), &ours);
    let sign = ["-q", "-I", &named, "-s", "ours", "-n", &id, "-V", "-1h:+1h", "-O", "no-agent-forwarding"];
    machine.keygen(&[&sign[..], &["key.pub"]].concat()).await;
    assert_eq!(says(&machine, &["-A"]).await, "none\n", "one that does not allow it");
}

mod container {
    //! In a container of a real kubelet.

    use super::{
        super::super::{
            container::{IMAGE, node},
            lives::reaches,
            real::{desk, ends, user},
        },
        *,
    };

    /// Asks for the keys of the agent, which the image has no program for, and says how many there are.
    const COUNTS: &str = r#"my $agent = IO::Socket::UNIX->new(Peer => $ENV{SSH_AUTH_SOCK}) or die "no agent: $!";
syswrite($agent, pack("NC", 1, 11));
read($agent, my $head, 9) == 9 or die "no answer";
my (undef, $kind, $keys) = unpack("NCN", $head);
print "kind $kind, keys $keys\n";"#;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs a real node: make real"]
    async fn programs_in_a_real_container_ask_the_agent_and_its_socket_goes() {
        let world = World::real(|_| {}).await;
        let ada = user(&world, "ada").await;
        let Some(mut machine) = Machine::new(&world, &ada).await else { return };
        let command = json!(["sh", "-c", "trap exit TERM; sleep 1d & wait"]);
        let path = desk(&ada, json!({ "image": IMAGE, "nodes": [node()], "command": command })).await;
        reaches(&ada, &path, "Running").await;
        machine.adds_key(&ada).await;
        let Some(agent) = Agent::new(&machine).await else { return };
        machine.agent = Some(agent.socket.clone());
        let (port, _forwarding) = forwarding(&world).await;
        machine.port = port;
        let asks = format!("perl -MIO::Socket::UNIX -e '{COUNTS}'; echo $SSH_AUTH_SOCK");
        let seen = good(&ended(machine.ssh("desk", &["-A"], &[&asks]), b"").await);
        let ["kind 12, keys 1", socket] = seen.lines().collect::<Vec<_>>()[..] else { panic!("{seen}") };
        goes(&machine, socket).await;

        let mut command = machine.ssh("desk", &["-A"], &["echo $SSH_AUTH_SOCK; sleep 600"]);
        let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(client.stdout.take().unwrap()).lines();
        let socket = timeout(Duration::from_secs(30), said.next_line()).await.unwrap().unwrap().unwrap();
        stops(client).await;
        goes(&machine, &socket).await;
        assert_eq!(ada.delete(&path).await.0, 204);
        ends(world, &[&ada]).await;
    }
}
