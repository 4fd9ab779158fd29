//! `maar login`, `maar workspace` and `maar kubeconfig` as people run them: the binary against `maar up`, and its exit codes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "workspace/apps.rs"]
mod apps;
#[path = "workspace/screen.rs"]
mod screen;

use std::{
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
};

/// Starts `maar up` and waits until it is up; where the portal is, and the first password.
async fn up(folder: &Path) -> (Child, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(["up", "--port", "0", "--nodes", "2", "--ssh-agent-forwarding"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut address, mut password) = (None, None);
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some(at) = line.find("http://").filter(|_| line.starts_with("Portal")) {
            address =
                line[at..].split("/api").next().map(|text| text.trim().trim_end_matches('/').to_owned());
        }
        if let Some((_, rest)) = line.split_once("with the password ") {
            password = rest.split(' ').next().map(str::to_owned);
        }
        if line.starts_with("Ctrl-C") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, address.unwrap(), password.unwrap())
}

async fn maar(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(words)
        .env("MAAR_LOGIN", folder.join("login.json"))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that reads nothing may be over already.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    child.wait_with_output().await.unwrap()
}

async fn says(folder: &Path, words: &[&str]) -> String {
    let output = maar(folder, words, "").await;
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A request of a page, and the cookie of its answer.
async fn send(address: &str, request: axum::http::request::Builder, body: Value) -> Option<String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = kube::Client::try_from(kube::Config::new(address.parse().unwrap())).unwrap();
    let request = request.header("x-maar-request", "1").header("content-type", "application/json");
    let answer = client.send(request.body(body.to_string().into_bytes().into()).unwrap()).await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    answer.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned())
}

/// Gives the first administrator a password of his own, as the pages do; the session in which he did.
async fn change_password(address: &str, first: &str) -> String {
    let send = async |request, body| send(address, request, body).await;
    let post = axum::http::Request::post("/api/v1/login");
    let cookie = send(post, serde_json::json!({ "name": "admin", "password": first })).await.unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let put = axum::http::Request::put("/api/v1/me/password").header("cookie", &cookie);
    send(put, serde_json::json!({ "current": first, "new": "correct horse battery" })).await;
    cookie
}

/// Commands for jobs, through the portal: they say what they say by a kubeconfig.
async fn jobs_by_both_ways(here: &Path, namespace: &str) {
    let read = async |words: &[&str]| -> Value { serde_json::from_str(&says(here, words).await).unwrap() };
    let submit =
        ["job", "submit", "--name", "train", "--image", "busybox", "--gpus", "1", "--", "sleep", "1d"];
    let table = says(here, &submit).await;
    assert!(table.starts_with("NAME ") && table.contains("train"), "{table}");
    assert_eq!(maar(here, &submit, "").await.status.code(), Some(4), "it exists already");
    says(here, &["job", "suspend", "train", "--wait"]).await;
    let by_portal = read(&["job", "get", "train", "-o", "json"]).await;
    let by_cluster = read(&["job", "get", "train", "-o", "json", "-n", namespace]).await;
    assert_eq!(by_portal["spec"], by_cluster["spec"]);
    assert_eq!(
        (&by_portal["status"]["phase"], &by_portal["spec"]["user"]),
        (&"Suspended".into(), &"admin".into())
    );
    let row = |text: String| text.lines().find(|line| line.starts_with("train")).map(str::to_owned).unwrap();
    let same = |one: &str, other: &str| {
        // Ages may differ by a second.
        let words = |text: &str| text.split_whitespace().take(6).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(one), words(other));
    };
    same(&row(says(here, &["job", "list"]).await), &row(says(here, &["job", "list", "-n", namespace]).await));
    assert!(says(here, &["explain", "job", "train"]).await.starts_with("job train is Suspended"));
    says(here, &["job", "resume", "train", "--wait"]).await;
    for (words, want) in
        [(&["job", "logs", "train", "--task", "nobody"][..], 3), (&["job", "get", "../nodes"][..], 3)]
    {
        assert_eq!(maar(here, words, "").await.status.code(), Some(want), "{words:?}");
    }
    assert!(
        says(here, &["top"]).await.contains("NODE ")
            && says(here, &["top", "accounts"]).await.contains("NAME ")
    );
    says(here, &["job", "cancel", "train", "--wait"]).await;
    // What an array makes is told by its parent; of others, and of those that made nothing, there is none.
    let sweep =
        ["job", "submit", "--name", "sweep", "--image", "busybox", "--array", "0-1", "--", "sleep", "1d"];
    says(here, &sweep).await;
    let made = async {
        while read(&["job", "list", "--parent", "sweep", "-o", "json"]).await["items"]
            .as_array()
            .unwrap()
            .len()
            < 2
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), made).await.unwrap();
    let none = read(&["job", "list", "--parent", "train", "-o", "json"]).await;
    assert_eq!(none["items"], serde_json::json!([]), "{none}");
    says(here, &["job", "cancel", "sweep"]).await;
    assert!(says(here, &["job", "list", "-o", "yaml"]).await.contains("phase: Aborted"));
}

#[tokio::test]
async fn who_has_neither_a_login_nor_a_cluster_is_told_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    for words in [["workspace", "list"], ["job", "list"], ["top", "nodes"], ["forward", "desk"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_maar"));
        command.args(words).args((words[0] == "forward").then_some("8888")).env_remove("KUBECONFIG");
        command.env("HOME", folder.path()).env_remove("MAAR_LOGIN").current_dir(folder.path());
        let output = command.output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
        for way in ["maar login", "maar up", "--kubeconfig"] {
            assert!(said.contains(way), "{words:?}: {said}");
        }
        assert!(!said.contains("os error"), "{words:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_log_in_and_use_workspaces() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (mut cluster, address, first) = up(here).await;
    let login = ["login", &address, "--user", "admin", "--password-stdin"];
    assert_eq!(
        maar(here, &login, &format!("{first}\n")).await.status.code(),
        Some(4),
        "a password to be changed"
    );
    change_password(&address, &first).await;
    assert_eq!(maar(here, &login, "wrong\n").await.status.code(), Some(4));
    assert_eq!(maar(here, &["login", "http://gpu.example"], "").await.status.code(), Some(2), "no TLS");
    let output = maar(here, &login, "correct horse battery\n").await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("You are admin"));

    let create =
        ["workspace", "create", "desk", "--image", "busybox", "--gpus", "1", "--wait", "--", "sleep", "1d"];
    let table = says(here, &create).await;
    assert!(
        table.starts_with("NAME ") && table.contains("Running") && table.contains("nvidia.com/gpu="),
        "{table}"
    );
    let list: Value = serde_json::from_str(&says(here, &["workspace", "list", "-o", "json"]).await).unwrap();
    assert_eq!((&list["items"][0]["name"], &list["items"][0]["user"]), (&"desk".into(), &"admin".into()));
    says(here, &["workspace", "logs", "desk", "--tail", "5"]).await;
    assert_eq!(says(here, &["ws", "exec", "desk", "--", "hostname"]).await, "desk\n", "through the portal");
    assert_eq!(maar(here, &["ws", "exec", "desk", "--", "false"], "").await.status.code(), Some(1));
    assert_eq!(maar(here, &["ws", "exec", "none", "--", "id"], "").await.status.code(), Some(3));
    let never = ["ws", "create", "huge", "--image", "busybox", "--gpus", "64", "--wait", "--timeout", "1s"];
    let late = maar(here, &never, "").await;
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert_eq!(late.status.code(), Some(6), "{said}");
    assert!(said.contains("huge is Pending: ") && said.contains("waited for 1s in vain"), "{said}");
    says(here, &["ws", "delete", "huge", "--wait", "--timeout", "1m"]).await;
    assert!(says(here, &["ws", "stop", "desk", "--wait"]).await.contains("Suspended"));
    assert!(says(here, &["ws", "resume", "desk", "--wait"]).await.contains("Running"));
    let again = maar(here, &create, "").await;
    assert_eq!(again.status.code(), Some(4), "it exists already");
    assert_eq!(maar(here, &["ws", "get", "none"], "").await.status.code(), Some(3));
    let bad = ["ws", "create", "bad", "--image", "a;b"];
    assert!(
        String::from_utf8_lossy(&maar(here, &bad, "").await.stderr).contains("image"),
        "the field is named"
    );

    // The same workspace without the portal, by kubeconfig.
    let namespace = list["items"][0]["namespace"].as_str().unwrap();
    let words = ["ws", "exec", "-n", namespace, "desk", "--", "hostname"];
    assert_eq!(says(here, &words).await, "desk\n");
    assert!(says(here, &["ws", "list", "-n", namespace]).await.contains("desk"));
    says(here, &["ws", "delete", "desk", "--wait"]).await;
    assert_eq!(maar(here, &["ws", "get", "desk"], "").await.status.code(), Some(3));

    jobs_by_both_ways(here, namespace).await;

    assert!(says(here, &["completion", "bash"]).await.contains("workspace"));
    says(here, &["login", "--forget"]).await;
    assert!(!here.join("login.json").exists());
    let pid = cluster.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
    assert!(cluster.wait().await.unwrap().success());
}

/// Logs in with a browser elsewhere, which has a session: answers the code that the command shows.
async fn log_in_by_device(here: &Path, address: &str, cookie: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(["login", address, "--device"])
        .env("MAAR_LOGIN", here.join("login.json"))
        .current_dir(here)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let code = line.rsplit(' ').next().unwrap();
    let request = axum::http::Request::post(format!("/api/v1/device/{code}")).header("cookie", cookie);
    send(address, request, serde_json::json!({ "approve": true })).await;
    assert!(child.wait().await.unwrap().success());
}

/// Lists Pods as kubectl does with a kubeconfig.
async fn lists(file: &Path) -> Result<(), u16> {
    let read = kube::config::Kubeconfig::read_from(file).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(read, &options).await.unwrap();
    let namespace = config.default_namespace.clone();
    let client = kube::Client::try_from(config).unwrap();
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> = kube::Api::namespaced(client, &namespace);
    match pods.list(&kube::api::ListParams::default()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(other) => panic!("{other}"),
    }
}

/// What a device is given takes the place of what it had, wherever it was put; other devices keep theirs, also those of
/// its name.
async fn a_device_has_one_kubeconfig(here: &Path) {
    let write = async |machine: &Path, file: &str, device: &str| {
        let place = here.join(file);
        let words = ["kubeconfig", "write", "--kubeconfig", place.to_str().unwrap(), "--device", device];
        let output = maar(machine, &words, "").await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert_eq!(lists(&place).await, Ok(()), "{file}");
        (place, said)
    };
    let (first, said) = write(here, "first", "laptop").await;
    assert!(!said.contains("revoked"), "{said}");
    let (second, said) = write(here, "second", "laptop").await;
    assert!(said.contains("which this device had before, is revoked"), "{said}");
    assert!(matches!(lists(&first).await, Err(401 | 403)), "what the laptop had before");
    write(here, "third", "phone").await;
    assert_eq!(lists(&second).await, Ok(()), "what the laptop has");
    let machine = here.join("another machine");
    std::fs::create_dir(&machine).unwrap();
    std::fs::copy(here.join("login.json"), machine.join("login.json")).unwrap();
    let (fourth, said) = write(&machine, "fourth", "laptop").await;
    assert!(!said.contains("revoked") && said.contains("goes by the same name"), "{said}");
    write(&machine, "fifth", "laptop").await;
    assert!(matches!(lists(&fourth).await, Err(401 | 403)), "what the other laptop had before");
    assert_eq!(lists(&second).await, Ok(()), "a laptop of the same name keeps its own");
    let items: Value =
        serde_json::from_str(&says(here, &["kubeconfig", "list", "-o", "json"]).await).unwrap();
    let live = items["items"].as_array().unwrap().iter().filter(|one| one["revoked"] == false);
    assert_eq!(live.count(), 3, "{items}");
    tokio::join!(write(here, "left", "left"), write(here, "right", "right"));
    for device in ["left", "right"] {
        let (_, said) = write(here, &format!("{device}-again"), device).await;
        assert!(
            said.contains("which this device had before, is revoked"),
            "{device}, of two at once: {said}"
        );
    }
    for way in ["yaml", "wide"] {
        assert!(says(here, &["kubeconfig", "list", "-o", way]).await.contains("laptop"), "{way}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_without_a_browser_log_in_and_have_kubectl_for_hours() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (_cluster, address, first) = up(here).await;
    assert_eq!(maar(here, &["kubeconfig", "list"], "").await.status.code(), Some(4), "nobody is logged in");
    let cookie = change_password(&address, &first).await;
    log_in_by_device(here, &address, &cookie).await;

    let file = here.join("config");
    let there = "apiVersion: v1\nkind: Config\ncurrent-context: work\npreferences: {}\n\
        clusters:\n- {name: work, cluster: {server: 'https://work.example'}}\n\
        users:\n- {name: me, user: {token: abc}}\n\
        contexts:\n- {name: work, context: {cluster: work, user: me}}\n";
    std::fs::write(&file, there).unwrap();
    let path = file.to_str().unwrap();
    a_device_has_one_kubeconfig(here).await;
    for mode in ["certificate", "token"] {
        let said =
            says(here, &["kubeconfig", "write", "--mode", mode, "--kubeconfig", path, "--hours", "1"]).await;
        assert!(said.contains("The context admin@127.0.0.1:") && said.contains(mode), "{said}");
        assert_eq!(lists(&file).await, Ok(()), "{mode}");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let written: Value = serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let old: Value = serde_saphyr::from_str(there).unwrap();
        for list in ["clusters", "users", "contexts"] {
            assert_eq!(
                (&written[list][0], written[list].as_array().unwrap().len()),
                (&old[list][0], 2),
                "{list}"
            );
        }
        let items = says(here, &["kubeconfig", "list", "-o", "json"]).await;
        let items: Value = serde_json::from_str(&items).unwrap();
        let id = items["items"][0]["id"].as_str().unwrap().to_owned();
        assert!(says(here, &["kubeconfig", "revoke", &id]).await.contains("revoked"));
        assert!(matches!(lists(&file).await, Err(401 | 403)), "{mode}");
    }
    let refused = maar(here, &["kubeconfig", "write", "--mode", "oidc", "--kubeconfig", path], "").await;
    assert_eq!(refused.status.code(), Some(4), "maar up has no https, so the cluster knows no provider");
    std::fs::write(&file, "clusters: nonsense").unwrap();
    assert!(!maar(here, &["kubeconfig", "write", "--kubeconfig", path], "").await.status.success());
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "clusters: nonsense",
        "what is no kubeconfig is left alone"
    );
    assert_eq!(maar(here, &["kubeconfig", "revoke", "../me"], "").await.status.code(), Some(3));
}

/// ssh as people type it, by what was written for it and a key of their own.
async fn connects(here: &Path, address: &str, cookie: &str, folder: &Path) {
    let key = here.join("id_ed25519");
    let mut keygen = Command::new("ssh-keygen");
    let made = keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", key.to_str().unwrap()]).status().await;
    assert!(made.unwrap().success());
    let public = std::fs::read_to_string(here.join("id_ed25519.pub")).unwrap();
    let request = axum::http::Request::post("/api/v1/me/ssh-keys").header("cookie", cookie);
    send(address, request, serde_json::json!({ "title": "laptop", "key": public.trim() })).await;
    let config = folder.join("config");
    let ssh = async |host: &str, command: &str| {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", config.to_str().unwrap(), "-i", key.to_str().unwrap(), "-o", "BatchMode=yes"]);
        ssh.args(["-o", "IdentitiesOnly=yes", host, command]).stdin(Stdio::null()).output().await.unwrap()
    };
    let output = ssh("shell@maar", "echo $((6*7))").await;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{output:?}");
    // Another host by the same address is not believed: its key is what is known.
    let known = folder.join("maar/known_hosts");
    let other = "maar ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOFq7mGyLsyNN4Ia0ORc1wHwJHQ5FDB7IwPGMRCzcK+x\n";
    std::fs::write(&known, other).unwrap();
    let output = ssh("shell@maar", "true").await;
    assert_eq!(output.status.code(), Some(255), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Host key verification failed"), "{output:?}");
}

/// ssh as people type it, by settings that get a certificate first: nobody has added a key.
async fn connects_by_certificate(here: &Path) {
    let folder = here.join("with certificates");
    std::fs::create_dir(&folder).unwrap();
    let place = folder.to_str().unwrap();
    let said = says(here, &["ssh-config", "--folder", place, "--write", "--certificate"]).await;
    assert!(said.contains("while you are logged in here"), "{said}");
    let (config, certificate) = (folder.join("config"), folder.join("maar/key-cert.pub"));
    let ssh = async || {
        let mut ssh = Command::new("ssh");
        // No key of whoever runs the tests, and no agent.
        ssh.args(["-F", config.to_str().unwrap(), "-o", "BatchMode=yes", "-o", "IdentityAgent=none"]);
        ssh.args(["shell@maar", "echo $((6*7))"])
            .env("HOME", here)
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap()
    };
    let works = async || {
        let output = ssh().await;
        assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{output:?}");
        std::fs::read_to_string(&certificate).unwrap()
    };
    let first = works().await;
    assert_eq!(works().await, first, "one that lasts is used again");
    std::fs::write(&certificate, "over").unwrap();
    assert_ne!(works().await, "over", "another is got");
    std::fs::remove_file(&certificate).unwrap();
    std::fs::rename(here.join("login.json"), here.join("away.json")).unwrap();
    let output = ssh().await;
    assert_eq!(output.status.code(), Some(255), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("maar login"), "{output:?}");
    std::fs::rename(here.join("away.json"), here.join("login.json")).unwrap();
}

/// Programs in the workspace find the agent of this machine only where it is asked for.
async fn forwards_the_agent(here: &Path) {
    let socket = here.join("agent of mine");
    let mut agent = Command::new("ssh-agent");
    agent.arg("-D").arg("-a").arg(&socket).stdout(Stdio::null()).kill_on_drop(true);
    let Ok(_agent) = agent.spawn() else { return maar_testkit::absent!("ssh-agent (openssh-client)") };
    while !socket.exists() {
        tokio::task::yield_now().await;
    }
    let place = socket.to_str().unwrap();
    // An agent without keys says 1, and where there is no agent ssh-add says 2.
    let look = "ssh-add -l >&2; echo $?";
    assert_eq!(says(here, &["ssh", "-A", "--agent-socket", place, "shell", "--", look]).await, "1\n");
    assert_eq!(says(here, &["ssh", "--agent-socket", place, "shell", "--", look]).await, "2\n");
    let none = maar(here, &["ssh", "-A", "--agent-socket", "", "shell"], "").await;
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    assert!(String::from_utf8_lossy(&none.stderr).contains("SSH_AUTH_SOCK"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_in_workspaces_by_their_own_ssh() {
    for (program, of) in [("ssh", "-V"), ("bwrap", "--version")] {
        if Command::new(program).arg(of).output().await.is_err() {
            maar_testkit::absent!(program);
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (mut cluster, address, first) = up(here).await;
    let cookie = change_password(&address, &first).await;
    let login = ["login", &address, "--user", "admin", "--password-stdin"];
    assert!(maar(here, &login, "correct horse battery\n").await.status.success());
    says(here, &["ws", "create", "shell", "--image", "busybox", "--wait", "--", "sleep", "1d"]).await;

    assert_eq!(says(here, &["ssh", "shell", "--", "echo", "$((6*7))"]).await, "42\n");
    let output = maar(here, &["ssh", "shell", "--", "cat; exit 9"], "typed").await;
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(9), &b"typed"[..]), "{output:?}");
    assert_eq!(maar(here, &["ssh", "-oProxyCommand=x"], "").await.status.code(), Some(2));
    assert_eq!(maar(here, &["ssh", "nowhere", "--", "true"], "").await.status.code(), Some(255));

    forwards_the_agent(here).await;
    connects_by_certificate(here).await;
    let ssh_folder = here.join("dot-ssh");
    std::fs::create_dir(&ssh_folder).unwrap();
    std::fs::write(ssh_folder.join("config"), "Host work\n    User ada\n").unwrap();
    let place = ssh_folder.to_str().unwrap();
    assert!(says(here, &["ssh-config", "--folder", place]).await.contains("Host maar\n"));
    assert!(!ssh_folder.join("maar").exists(), "nothing is written unless it is asked for");
    says(here, &["ssh-config", "--folder", place, "--write"]).await;
    // What OpenSSH makes of it.
    let own = ssh_folder.join("maar/config");
    let mut command = Command::new("ssh");
    let read = command.args(["-G", "-F", own.to_str().unwrap(), "shell@maar"]).output().await.unwrap();
    let read = String::from_utf8(read.stdout).unwrap();
    assert!(read.contains("hostname 127.0.0.1") && read.contains("user shell"), "{read}");
    connects(here, &address, &cookie, &ssh_folder).await;
    assert!(std::fs::read_to_string(ssh_folder.join("config")).unwrap().ends_with("    User ada\n"));
    let pid = cluster.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
    assert!(cluster.wait().await.unwrap().success());
}

/// Whether programs of this machine can be workspaces.
async fn local_node_is_offered() -> bool {
    let found = Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().await;
    if !found.is_ok_and(|status| status.success()) {
        maar_testkit::absent!("bubblewrap");
        return false;
    }
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn people_copy_files_and_reach_ports() {
    if !local_node_is_offered().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (_cluster, address, first) = up(here).await;
    change_password(&address, &first).await;
    let login = ["login", &address, "--user", "admin", "--password-stdin"];
    assert!(maar(here, &login, "correct horse battery\n").await.status.success());
    let create =
        ["ws", "create", "desk", "--image", "none", "--node", "local", "--wait", "--", "sleep", "1d"];
    assert!(says(here, &create).await.contains("Running"));
    let list: Value = serde_json::from_str(&says(here, &["ws", "list", "-o", "json"]).await).unwrap();
    let namespace = list["items"][0]["namespace"].as_str().unwrap().to_owned();
    let through = [&[][..], &["-n", namespace.as_str()]];

    let data = here.join("data");
    std::fs::create_dir_all(data.join("deep")).unwrap();
    let large = vec![7_u8; 3 << 20];
    std::fs::write(data.join("deep/large"), &large).unwrap();
    std::fs::write(data.join("small"), "small").unwrap();
    for (number, more) in through.into_iter().enumerate() {
        let (there, back) = (format!("desk:/tmp/copy-{number}"), format!("back-{number}"));
        let copied = maar(here, &[&["cp", "data", &there], more].concat(), "").await;
        let told = String::from_utf8(copied.stderr).unwrap();
        assert!(copied.status.success() && copied.stdout.is_empty(), "{told}");
        assert!(told.starts_with('(') && told.lines().count() == 1, "nobody looks, nothing is shown: {told}");
        let script = format!("cat /tmp/copy-{number}/small");
        assert_eq!(says(here, &["ws", "exec", "desk", "--", "sh", "-c", &script]).await, "small");
        says(here, &[&["cp", &there, &back], more].concat()).await;
        assert_eq!(std::fs::read(here.join(&back).join("deep/large")).unwrap(), large);
        // Into a folder that is there, under its own name.
        says(here, &[&["cp", "data/small", &format!("{there}/deep")], more].concat()).await;
        says(here, &[&["cp", &format!("{there}/deep/small"), "."], more].concat()).await;
        assert_eq!(std::fs::read_to_string(here.join("small")).unwrap(), "small");
    }
    let fails = async |words: &[&str], code: i32, word: &str| {
        let output = maar(here, words, "").await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(word), "{words:?}: {said}");
    };
    fails(&["cp", "data", "data2"], 2, "workspace").await;
    fails(&["cp", "none", "desk:/tmp"], 1, "none").await;
    fails(&["cp", "desk:/tmp/none", "."], 1, "none").await;
    fails(&["cp", "data", "away:/tmp"], 3, "exist").await;
    fails(&["forward", "desk", "x"], 2, "8888").await;
    fails(&["ws", "exec", "desk", "-t", "--", "id"], 2, "--tty").await;
    fails(&["forward", "away", "80"], 3, "exist").await;
    fails(&["forward", "pod/away", "80"], 2, "job/train").await;
    fails(&["forward", "job/away", "80"], 3, "exist").await;
    fails(&["cp", "data", "job/away:/tmp"], 3, "exist").await;

    begin_job(here).await;
    for more in through {
        a_job_is_entered(here, more).await;
        a_port_is_reached(here, "desk", more, &large).await;
        a_port_is_reached(here, "job/train/worker-1", more, &large[..1 << 16]).await;
        a_connection_that_fails_is_told(here, more).await;
        screen::shows_how_far_a_copy_is(here, more).await;
        screen::a_shell_has_the_screen_of_its_user(here, more).await;
        screen::a_command_has_the_screen_if_it_is_said(here, more).await;
    }
}

/// Makes a job of two Pods on this machine, and waits until both run.
async fn begin_job(here: &Path) {
    let job = serde_json::json!({
        "apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "metadata": { "name": "train" },
        "spec": { "nodes": { "include": ["local"] }, "tasks": [{ "name": "worker", "replicas": 2, "template": { "spec": {
            "containers": [
                { "name": "main", "image": "none", "command": ["sleep", "1d"] },
                { "name": "side", "image": "none", "command": ["sleep", "1d"], "env": [{ "name": "SIDE", "value": "yes" }] },
            ],
        } } }] },
    });
    std::fs::write(here.join("job.yaml"), job.to_string()).unwrap();
    says(here, &["job", "submit", "--file", "job.yaml"]).await;
    let running = async {
        loop {
            let job: Value =
                serde_json::from_str(&says(here, &["job", "get", "train", "-o", "json"]).await).unwrap();
            if job["status"]["ready"] == "2/2" {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), running).await.unwrap();
}

/// Commands and files in Pods of a job.
async fn a_job_is_entered(here: &Path, more: &[&str]) {
    let exec = async |before: &[&str], command: &[&str]| {
        maar(here, &[&["job", "exec", "train"], more, before, &["--"], command].concat(), "").await
    };
    let said = async |before: &[&str], command: &[&str]| {
        let output = exec(before, command).await;
        assert!(output.status.success(), "{before:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(said(&[], &["hostname"]).await, "train-worker-0\n", "the first that runs");
    for pod in ["worker-1", "train-worker-1"] {
        assert_eq!(said(&["--pod", pod], &["hostname"]).await, "train-worker-1\n");
    }
    assert_eq!(said(&["-c", "side"], &["sh", "-c", "echo $SIDE"]).await, "yes\n");
    assert_eq!(exec(&[], &["sh", "-c", "exit 9"]).await.status.code(), Some(9), "as the command ends");
    let missing = exec(&["--pod", "worker-7"], &["true"]).await;
    let why = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(missing.status.code(), Some(3), "{why}");
    assert!(why.contains("train-worker-0, train-worker-1"), "those that run are named: {why}");
    says(here, &[&["cp", "data/small", "job/train/worker-1:/tmp/of-job"], more].concat()).await;
    says(here, &[&["cp", "job/train/worker-1:/tmp/of-job", "came"], more].concat()).await;
    assert_eq!(std::fs::read_to_string(here.join("came")).unwrap(), "small");
    let other = exec(&[], &["test", "-e", "/tmp/of-job"]).await;
    assert_eq!(other.status.code(), Some(1), "only in the Pod that was named");
    std::fs::remove_file(here.join("came")).unwrap();
}

/// What is said to a port here comes back from a program there.
async fn a_port_is_reached(here: &Path, target: &str, more: &[&str], large: &[u8]) {
    let program = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = program.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = program.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    let mut forward = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args([&["forward", target, &format!(":{port}")], more].concat())
        .env("MAAR_LOGIN", here.join("login.json"))
        .current_dir(here)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(forward.stderr.take().unwrap()).lines();
    let local = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some((local, _)) = line.split_once(" -> ") {
            break local.strip_prefix("listening on ").unwrap().to_owned();
        }
    };
    for _ in 0..2 {
        let mut stream = tokio::net::TcpStream::connect(&local).await.unwrap();
        stream.write_all(large).await.unwrap();
        let mut echo = vec![0; large.len()];
        tokio::io::AsyncReadExt::read_exact(&mut stream, &mut echo).await.unwrap();
        assert!(echo == large, "what comes back is what was sent");
    }
    forward.kill().await.unwrap();
}

/// A port at which nobody listens in the workspace.
async fn a_connection_that_fails_is_told(here: &Path, more: &[&str]) {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut forward = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args([&["forward", "desk", &format!(":{closed}")], more].concat())
        .env("MAAR_LOGIN", here.join("login.json"))
        .current_dir(here)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(forward.stderr.take().unwrap()).lines();
    let (mut local, place) = (None, format!("desk:{closed}: "));
    let told = async {
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if let Some(rest) = line.strip_prefix("listening on ") {
                local = rest.split(' ').next().map(str::to_owned);
            }
            if line.starts_with("Ctrl-C") {
                let mut stream = tokio::net::TcpStream::connect(local.as_ref().unwrap()).await.unwrap();
                stream.write_all(b"anybody?").await.unwrap();
                let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 8]).await;
            }
            if let Some(why) = line.strip_prefix(&place) {
                break why.to_owned();
            }
        }
    };
    let why = tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
    assert!(!why.is_empty());
    forward.kill().await.unwrap();
}
