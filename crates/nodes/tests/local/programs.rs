//! Programs as containers: their output, their end, their streams, their walls.

use std::{path::Path, time::Duration};

use futures::{SinkExt, StreamExt};
use kube::api::{AttachParams, DeleteParams, LogParams, TerminalSize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::{exec, never, processes, shell, world};

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_log_and_exit() {
    let Some(world) = world().await else { return };
    world.create("good", never(&shell("echo hello; echo oops >&2; echo done > /dev/termination-log"))).await;
    world.create("bad", never(&shell("exit 7"))).await;
    world
        .create("missing", never(&json!({ "name": "main", "image": "x", "command": ["/no/such/program"] })))
        .await;
    world.create("image", never(&json!({ "name": "main", "image": "nginx" }))).await;
    let good = world.phase("good", "Succeeded").await;
    assert_eq!(good["status"]["containerStatuses"][0]["state"]["terminated"]["message"], "done\n");
    let log = world.logs("good").await;
    assert!(log.contains("hello\n") && log.contains("oops\n"), "{log}");
    let bad = world.phase("bad", "Failed").await;
    assert_eq!(bad["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 7);
    let missing = world.phase("missing", "Failed").await;
    let exit = &missing["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(
        (exit["exitCode"].as_i64(), exit["reason"].as_str()),
        (Some(128), Some("StartError")),
        "{exit}"
    );
    let image = world
        .until("image", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].is_string()
        })
        .await;
    let waiting = &image["status"]["containerStatuses"][0]["state"]["waiting"];
    assert!(
        waiting["message"].as_str().expect("text").contains("give container \"main\" a command"),
        "{waiting}"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_keeps_the_machine_from_harm() {
    let Some(world) = world().await else { return };
    let line = "hostname; id -u; ls /; touch /usr/x 2>&1; touch /etc/passwd 2>&1; touch /inside && echo own; \
                cat /proc/self/status | grep CapEff; ls /proc | grep -c '^[0-9]'; ls /root /home 2>&1; env | sort";
    world.create("box", never(&shell(line))).await;
    world.phase("box", "Succeeded").await;
    let log = world.logs("box").await;
    assert!(log.starts_with("box\n0\n"), "{log}");
    assert!(log.contains("touch: cannot touch '/usr/x': Read-only file system"), "{log}");
    assert!(log.contains("own\n") && !Path::new("/inside").exists(), "{log}");
    assert!(log.contains("CapEff:\t0000000000000000"), "{log}");
    assert!(log.contains("KUBERNETES_SERVICE_HOST=127.0.0.1"), "{log}");
    assert!(!log.contains("CARGO"), "the environment of this process leaks: {log}");
    assert!(log.contains("ls: cannot access '/home'"), "{log}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_working_directory_that_does_not_exist_is_made() {
    let Some(world) = world().await else { return };
    for (name, folder) in [("own", "/work/deep"), ("memory", "/tmp/deep"), ("there", "/usr/share")] {
        let mut container = shell("pwd");
        container["workingDir"] = json!(folder);
        world.create(name, never(&container)).await;
        world.phase(name, "Succeeded").await;
        assert_eq!(world.logs(name).await, format!("{folder}\n"));
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_asks_first_and_kills_then_and_nothing_is_left() {
    let Some(world) = world().await else { return };
    world
        .create(
            "polite",
            never(&shell(
                "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done # polite-marker",
            )),
        )
        .await;
    world
        .create(
            "stubborn",
            never(&shell("trap '' TERM; echo ready; while :; do sleep 0.05; done # stubborn-marker")),
        )
        .await;
    world.phase("polite", "Running").await;
    world.phase("stubborn", "Running").await;
    world.hears("polite", "ready").await;
    world.hears("stubborn", "ready").await;
    let before = tokio::time::Instant::now();
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut log = std::pin::pin!(world.pods().log_stream("polite", &follow).await.expect("a stream"));
    world.pods().delete("polite", &DeleteParams::default()).await.expect("deletable");
    let mut text = String::new();
    futures::AsyncReadExt::read_to_string(&mut log, &mut text).await.expect("it ends");
    assert_eq!(text, "ready\nbye\n");
    world.until("polite", Value::is_null).await;
    assert!(before.elapsed() < Duration::from_secs(2), "it was not waited for");
    world.pods().delete("stubborn", &DeleteParams::default()).await.expect("deletable");
    world.until("stubborn", Value::is_null).await;
    assert!(before.elapsed() >= Duration::from_secs(2), "it had its grace");
    assert_eq!(processes("stubborn-marker"), [""; 0]);
    world.create("left", never(&shell("echo ready; sleep 1000 & sleep 1000 # left-marker"))).await;
    world.phase("left", "Running").await;
    // A container runs as soon as its sandbox does, which is a moment before its program.
    world.hears("left", "ready").await;
    assert!(!processes("left-marker").is_empty());
    world.end().await;
    assert_eq!(processes("left-marker"), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn crashes_are_restarted_and_the_log_before_is_kept() {
    let Some(world) = world().await else { return };
    let mut spec = never(&shell("echo run; exit 3"));
    spec["restartPolicy"] = json!("Always");
    world.create("loop", spec).await;
    let pod = world
        .until("loop", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        })
        .await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(
        (status["restartCount"].as_i64(), status["lastState"]["terminated"]["exitCode"].as_i64()),
        (Some(1), Some(3))
    );
    assert_eq!(world.logs("loop").await, "run\n");
    let before = LogParams { previous: true, timestamps: true, ..LogParams::default() };
    let log = world.pods().logs("loop", &before).await.expect("the log of the run before");
    assert!(log.ends_with("Z run\n") && log.lines().count() == 1, "{log}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_decide_about_readiness_and_life() {
    let Some(world) = world().await else { return };
    let mut container = shell("touch /alive; sleep 0.5; touch /ready; sleep 1000");
    let probe = |file: &str| json!({ "exec": { "command": ["cat", file] }, "periodSeconds": 1, "failureThreshold": 1 });
    container["readinessProbe"] = probe("/ready");
    container["livenessProbe"] = probe("/alive");
    container["livenessProbe"]["initialDelaySeconds"] = json!(1);
    let mut spec = never(&container);
    spec["restartPolicy"] = json!("Always");
    world.create("probed", spec).await;
    world.phase("probed", "Running").await;
    world.until("probed", |pod| pod["status"]["containerStatuses"][0]["ready"] == true).await;
    let (output, code) = exec(&world, "probed", &["rm", "/alive"]).await;
    assert_eq!((output.as_str(), code), ("", Some("Success".into())));
    let pod = world.until("probed", |pod| pod["status"]["containerStatuses"][0]["restartCount"] == 1).await;
    let exit = &pod["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(exit["exitCode"], 137, "sleep as the first process ignores the polite signal: {exit}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_enters_the_sandbox_with_a_real_terminal() {
    let Some(world) = world().await else { return };
    world.create("host", never(&shell("export INNER=1; echo $$$$ > /pid; sleep 1000"))).await;
    world.phase("host", "Running").await;
    let (output, status) =
        exec(&world, "host", &["sh", "-c", "cat /pid; hostname; grep CapEff /proc/self/status; exit 4"])
            .await;
    assert_eq!(output, "1\nhost\nCapEff:\t0000000000000000\n");
    assert_eq!(status.as_deref(), Some("Failure"));
    let (output, _) = exec(&world, "host", &["no-such-program"]).await;
    assert_eq!(output, "");
    let parameters = AttachParams::interactive_tty();
    let mut process = world.pods().exec("host", ["sh"], &parameters).await.expect("exec");
    let mut sizes = process.terminal_size().expect("a terminal");
    sizes.send(TerminalSize { width: 123, height: 45 }).await.expect("resized");
    let mut stdin = process.stdin().expect("stdin");
    let mut stdout = process.stdout().expect("stdout");
    // The size is set by another message than what is typed, so it is asked for until it has arrived.
    stdin.write_all(b"while [ \"$(stty size)\" != '45 123' ]; do sleep 0.05; done; test -t 0 && echo ter''minal; echo it is $(tty); exit 9\n").await.expect("typed");
    let mut text = String::new();
    stdout.read_to_string(&mut text).await.expect("text");
    assert!(text.contains("terminal\r\n"), "{text:?}");
    // One that was made outside has no name inside: "not a tty".
    assert!(text.contains("it is /dev/pts/0\r\n"), "{text:?}");
    let status = process.take_status().expect("a status").await.expect("a status");
    assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_value_of_a_variable_is_in_the_list_of_processes() {
    let Some(world) = world().await else { return };
    let mut container = shell("printenv TOKEN; sleep 1000");
    container["env"] =
        json!([{ "name": "TOKEN", "value": "it's-a-secret-marker" }, { "name": "a.b", "value": "odd" }]);
    world.create("host", never(&container)).await;
    world.phase("host", "Running").await;
    world.hears("host", "it's-a-secret-marker").await;
    let parameters = AttachParams::default().stdin(true).stderr(false);
    let line = "printenv TOKEN; test -e /proc/$$/fd/3 || echo closed; read line";
    let mut process = world.pods().exec("host", ["sh", "-c", line], &parameters).await.expect("exec");
    let mut said = [0; 28];
    process.stdout().expect("stdout").read_exact(&mut said).await.expect("it runs");
    assert_eq!(String::from_utf8_lossy(&said), "it's-a-secret-marker\nclosed\n");
    assert_eq!(processes("a-secret-marker"), [""; 0]);
    process.abort();
    assert_eq!(exec(&world, "host", &["printenv", "a.b"]).await.0, "odd\n");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_as_container_has_its_terminal_to_itself() {
    let Some(world) = world().await else { return };
    let container = |command: &[&str]| json!({ "name": "main", "image": "x", "tty": true, "stdin": true, "command": command });
    world.create("shell", never(&container(&["/bin/sh"]))).await;
    world.create("missing", never(&container(&["/no/such/program"]))).await;
    world.phase("shell", "Running").await;
    let parameters = AttachParams::interactive_tty();
    let mut process = world.pods().attach("shell", &parameters).await.expect("attach");
    process.stdin().expect("stdin").write_all(b"set -m; sleep 0 & wait; exit 6\n").await.expect("typed");
    let ended = world.phase("shell", "Failed").await;
    let exit = &ended["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(exit["exitCode"], 6, "{exit} {}", world.logs("shell").await);
    assert!(!world.logs("shell").await.contains("can't"), "{}", world.logs("shell").await);
    let missing = world.phase("missing", "Failed").await;
    let exit = &missing["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(
        (exit["exitCode"].as_i64(), exit["reason"].as_str()),
        (Some(128), Some("StartError")),
        "{exit}"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_other_than_root_can_be_entered_by_anybody() {
    let Some(world) = world().await else { return };
    let with = |container: Value, user: u32, group: u32| {
        let mut spec = never(&container);
        spec["securityContext"] = json!({ "runAsUser": user, "runAsGroup": group });
        spec
    };
    for (name, user, group) in [("both", 1000, 100), ("user", 1000, 0), ("group", 0, 100)] {
        let line = "id -u; id -g; grep CapEff /proc/self/status; touch /own; stat -c '%u %g' /own";
        world.create(name, with(shell(&format!("{line}; echo ready; sleep 1000")), user, group)).await;
        world.phase(name, "Running").await;
        world.hears(name, "ready").await;
        let want = format!("{user}\n{group}\nCapEff:\t0000000000000000\n{user} {group}\n");
        assert_eq!(world.logs(name).await, format!("{want}ready\n"));
        assert_eq!(exec(&world, name, &["sh", "-c", line]).await, (want, Some("Success".into())));
    }
    let missing = json!({ "name": "main", "image": "x", "command": ["/no/such/program"] });
    world.create("missing", with(missing, 1000, 100)).await;
    let missing = world.phase("missing", "Failed").await;
    assert_eq!(missing["status"]["containerStatuses"][0]["state"]["terminated"]["reason"], "StartError");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_read_late_is_whole() {
    let Some(world) = world().await else { return };
    world.create("host", never(&shell("sleep 1000"))).await;
    world.phase("host", "Running").await;
    let command = ["head", "-c", "5000000", "/dev/zero"];
    let mut process = world.pods().exec("host", command, &AttachParams::default()).await.expect("exec");
    // Meanwhile the command has long ended.
    exec(&world, "host", &["sleep", "4"]).await;
    let mut output = Vec::new();
    process.stdout().expect("stdout").read_to_end(&mut output).await.expect("output");
    assert_eq!(output.len(), 5_000_000);
    let status = process.take_status().expect("a status").await.expect("a status");
    assert_eq!(status.status.as_deref(), Some("Success"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_with_the_connection_that_ran_it() {
    let Some(world) = world().await else { return };
    world.create("host", never(&shell("sleep 1000"))).await;
    world.phase("host", "Running").await;
    for (marker, parameters) in [
        ("plain-marker", AttachParams::default()),
        ("terminal-marker", AttachParams::default().tty(true).stdin(true).stderr(false)),
    ] {
        // It would go on for ever: it neither reads nor minds that its terminal hangs up.
        let line = format!("trap '' HUP; echo up; while :; do sleep 0.05; done # {marker}");
        let mut process = world.pods().exec("host", ["sh", "-c", &line], &parameters).await.expect("exec");
        let mut said = [0; 2];
        process.stdout().expect("stdout").read_exact(&mut said).await.expect("it runs");
        assert!(said == *b"up" && !processes(marker).is_empty(), "{marker}");
        process.abort();
        drop(process);
        let ended = async {
            while !processes(marker).is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let left = || format!("{marker}: {:?} still run", processes(marker));
        tokio::time::timeout(Duration::from_secs(10), ended).await.unwrap_or_else(|_| panic!("{}", left()));
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attaching_and_forwarding_reach_the_process() {
    let Some(world) = world().await else { return };
    let mut container = shell("while read line; do echo got $line; done");
    container["stdin"] = json!(true);
    container["stdinOnce"] = json!(true);
    world.create("cat", never(&container)).await;
    world.phase("cat", "Running").await;
    let parameters = AttachParams::default().stdin(true).stderr(false);
    let mut process = world.pods().attach("cat", &parameters).await.expect("attach");
    let mut stdin = process.stdin().expect("stdin");
    let mut stdout = tokio_util::io::ReaderStream::new(process.stdout().expect("stdout"));
    stdin.write_all(b"hello\n").await.expect("typed");
    let chunk = stdout.next().await.expect("output").expect("output");
    assert_eq!(&chunk[..], b"got hello\n");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.write_all(b"welcome").await.expect("written");
    });
    let mut forward = world.pods().portforward("cat", &[port]).await.expect("forwarded");
    let mut stream = forward.take_stream(port).expect("a stream");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("read");
    assert_eq!(text, "welcome");
    world.end().await;
}
