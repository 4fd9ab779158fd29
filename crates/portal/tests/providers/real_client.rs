//! A certified client of others at our provider: the npm package openid-client, in Node.

use std::{net::SocketAddr, process::Stdio};

use maar_portal::IssuerSettings;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use super::{
    absent::absent,
    desk::{Desk, Jar},
    guarded::{folder, program},
    real_oidc::packages,
};

const PACKAGE: &str = include_str!("client/package.json");
const LOCK: &str = include_str!("client/package-lock.json");
const SCRIPT: &str = include_str!("client/client.mjs");
const SECRET: &str = "a secret of the tool: 100%";

/// The client, as it runs.
struct Running {
    _node: Child,
    input: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(node: &std::path::Path, folder: &std::path::Path, issuer: &str) -> Self {
        let mut child = Command::new(node)
            .args(["client.mjs", issuer, SECRET])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { _node: child, input, said: BufReader::new(output).lines() }
    }

    async fn says(&mut self) -> Value {
        let line = self.said.next_line().await.unwrap().expect("its errors are above");
        serde_json::from_str(&line).unwrap()
    }
}

/// A portal at a port of this machine, which is what its provider calls itself.
async fn desk() -> (Desk, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let clients = "clients:\n- { id: tool, secretFile: s, redirects: ['https://tool.example/callback'] }\n";
    let told = IssuerSettings::new(&[7; 32]).unwrap();
    let told = told.with_clients(clients, &|_| Ok(SECRET.to_owned())).unwrap();
    // Pages of the tests say that they come from another place.
    let origins = vec![issuer.clone(), super::desk::ORIGIN.to_owned()];
    let desk = Desk::with("", |settings| {
        settings.origins = origins;
        settings.issuer = Some(told);
    })
    .await;
    let service = desk.router.clone().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    (desk, issuer)
}

/// The browser goes where the client sends it, and agrees; where it is sent back.
async fn agrees(browser: &Jar, issuer: &str, visit: &str) -> String {
    let place = browser.follow(visit.strip_prefix(issuer).unwrap()).await;
    let path = place.replace("/consent/", "/consents/");
    let (status, way) = browser.post(&path, json!({ "approve": true })).await;
    assert_eq!(status, 200, "{way}");
    way["redirect"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certified_client_signs_people_in_refreshes_revokes_and_lets_devices_in() {
    let test = "a_certified_client_signs_people_in_refreshes_revokes_and_lets_devices_in";
    let found = program("node").zip(program("npm"));
    let found = found.and_then(|(node, npm)| Some((node, packages(&npm, "openid-client", PACKAGE, LOCK)?)));
    let Some((node, packages)) = found else {
        absent("node, npm or the package openid-client", test);
        return;
    };
    let folder = folder("openid-client");
    std::os::unix::fs::symlink(packages.join("node_modules"), folder.join("node_modules")).unwrap();
    std::fs::write(folder.join("package.json"), PACKAGE).unwrap();
    std::fs::write(folder.join("client.mjs"), SCRIPT).unwrap();
    let (desk, issuer) = desk().await;
    let admin = desk.admin().await;
    let id = admin.me().await["id"].clone();
    let mut client = Running::start(&node, &folder, &issuer);
    let visit = client.says().await["visit"].as_str().unwrap().to_owned();
    let back = agrees(&admin, &issuer, &visit).await;
    client.input.write_all(format!("{back}\n").as_bytes()).await.unwrap();
    let said = client.says().await;
    assert_eq!((&said["claims"]["sub"], &said["claims"]["aud"]), (&id, &json!("tool")), "{said}");
    assert_eq!(said["claims"]["groups"], json!(["maar:platform-admin"]));
    assert_eq!((&said["userinfo"]["sub"], &said["userinfo"]["preferred_username"]), (&id, &json!("admin")));
    assert_eq!((&said["rotated"], &said["revoked"]), (&json!(true), &json!("invalid_grant")));
    assert_ne!(said["fixed"], "nothing", "a state that is another is noticed");
    let code = client.says().await["code"].as_str().unwrap().to_owned();
    assert_eq!(admin.post(&format!("/device/{code}"), json!({ "approve": true })).await.0, 204);
    assert_eq!(client.says().await["device"]["sub"], id);
    let _ = std::fs::remove_dir_all(&folder);
}
