//! Schemathesis makes requests out of the API's document, sensible ones and others, and holds the answers to it: nothing is
//! a fault of the portal, and everything is as the document says.

use std::{path::Path, time::Duration};

use maar_portal::openapi;
use serde_json::{Value, json};
use tokio::{process::Command, sync::OnceCell};

use super::{
    absent::absent,
    lives::reaches,
    world::{World, eventually},
};

/// The version that this was written with.
const PACKAGE: &str = "schemathesis==4.32.5";
const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
/// A stream that ends with the client, what ends the very session that asks, and a drain, which waits for Pods.
const LEFT_OUT: [&str; 4] = ["streamChanges", "logout", "changePassword", "drainNode"];

/// Looked for once: two tests that install it at the same time would be in each other's way.
static PROGRAM: OnceCell<Option<String>> = OnceCell::const_new();

/// Where the program is, or nothing where it cannot be had.
async fn program() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemathesis");
    let (python, program) = (folder.join("bin/python"), folder.join("bin/st").display().to_string());
    let runs = async |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().await;
        output.is_ok_and(|output| output.status.success())
    };
    let version = PACKAGE.split("==").nth(1).unwrap_or_default();
    let check =
        format!("import importlib.metadata as m, sys; sys.exit(m.version('schemathesis') != '{version}')");
    let python = python.display().to_string();
    if runs(&python, &["-c", &check]).await
        || (runs("python3", &["-m", "venv", "--clear", &folder.display().to_string()]).await
            && runs(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE])
                .await)
    {
        return Some(program);
    }
    None
}

/// The document, with names of things that are there beside all others: what does not exist is soon told. Nothing is
/// deleted that others need, and no log is followed for ever.
fn document(names: &[(&str, Vec<String>)]) -> Value {
    let mut document = openapi();
    for operations in document["paths"].as_object_mut().unwrap().values_mut() {
        for (method, operation) in operations.as_object_mut().unwrap() {
            for parameter in operation["parameters"].as_array_mut().unwrap() {
                let known =
                    names.iter().find(|(name, _)| parameter["in"] == "path" && parameter["name"] == *name);
                if let Some((_, known)) = known.filter(|_| method != "delete") {
                    parameter["schema"] = json!({ "enum": known });
                }
                if parameter["name"] == "follow" {
                    parameter["schema"] = json!({ "const": false });
                }
            }
        }
    }
    document
}

/// Each value at its limits, as somebody who may do everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_at_the_limits_is_as_the_document_says() {
    ask("admin", "coverage").await;
}

/// All kinds of values, as somebody who may do little.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_to_anything_is_as_the_document_says() {
    ask("ada", "fuzzing").await;
}

/// Two tests and not one after the other, because each phase keeps a processor busy.
async fn ask(who: &str, phase: &str) {
    let Some(program) = PROGRAM.get_or_init(program).await else {
        return absent("schemathesis (python3 and its packages)");
    };
    let world = World::with(|settings| {
        settings.requests_per_second = 100_000;
        settings.look_again = Duration::from_secs(1);
    })
    .await;
    let (ada, admin) = (world.user("ada").await, world.admin().await);
    world.account("lab", &[("ada", "Admin")], &ada).await;
    let path = ada.workspace("desk", json!({ "cards": { "count": 1 }, "command": ["sleep", "1d"] })).await;
    reaches(&ada, &path, "Running").await;
    let job = json!({ "metadata": { "name": "train" }, "spec": { "tasks": [{ "name": "main",
        "template": { "spec": { "containers": [{ "name": "main", "image": "busybox" }] } } }] } });
    assert_eq!(ada.post("/jobs", job).await.0, 201);
    let namespace = ada.namespace().await;
    let train = format!("/jobs/{namespace}/train");
    eventually("the job", async || ada.get(&train).await.0 == 200).await;
    let node = ada.get("/nodes").await.1["items"][0]["name"].as_str().unwrap().to_owned();
    let names = ["desk", "train", "lab", &node].map(str::to_owned).to_vec();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, document(&[("namespace", vec![namespace]), ("name", names)]).to_string()).unwrap();
    let cookie = if who == "ada" { ada.cookie() } else { admin.cookie() };
    let mut command = Command::new(program);
    command.current_dir(folder.path()).env("NO_COLOR", "1").arg("run").arg(&file);
    command.args(["--url", &format!("http://{}", world.address), "--checks", CHECKS]);
    command.args(["--phases", phase, "--max-examples", "8", "--seed", "1"]);
    command.args(["--workers", "1", "--continue-on-failure", "--no-shrink", "--request-timeout", "20"]);
    command.args(["--suppress-health-check", "all", "--warnings", "off"]);
    command.args(["--header", &format!("Cookie: {cookie}"), "--header", "X-Maar-Request: 1"]);
    for left_out in LEFT_OUT {
        command.args(["--exclude-operation-id", left_out]);
    }
    let output = command.kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{who}:\n{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
