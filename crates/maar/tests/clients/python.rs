//! The Python client: installed once into a folder of the build, then used by `python_client.py`.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::cluster::Maar;
use crate::program::{self, Said};
use crate::suite::say;

/// The version that the cases were written with.
const PACKAGE: &str = "kubernetes==37.0.2";

const CASES: &str = include_str!("python_client.py");

/// An interpreter that has the client, or why there is none.
pub(crate) async fn environment() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-client");
    let interpreter = folder.join("bin/python");
    if has_client(&interpreter).await {
        return Ok(interpreter);
    }
    let made = start("python3", &["-m", "venv", "--clear", &folder.display().to_string()]).await?;
    if !made.success {
        return Err(format!("python3 makes no virtual environment: {}", last_line(&made)));
    }
    let arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    let installed = start(&interpreter.display().to_string(), &arguments).await?;
    if !installed.success {
        return Err(format!("{PACKAGE} cannot be installed: {}", last_line(&installed)));
    }
    Ok(interpreter)
}

async fn has_client(interpreter: &Path) -> bool {
    let version = PACKAGE.split("==").nth(1).unwrap_or_default();
    let check = format!("import kubernetes, sys; sys.exit(kubernetes.__version__ != '{version}')");
    start(&interpreter.display().to_string(), &["-c", &check]).await.is_ok_and(|said| said.success)
}

async fn start(program: &str, arguments: &[&str]) -> Result<Said, String> {
    let output = Command::new(program).args(arguments).output().await;
    output.map(Said::from).map_err(|error| format!("{program}: {error}"))
}

fn last_line(said: &Said) -> String {
    said.err.lines().chain(said.out.lines()).last().unwrap_or_default().to_owned()
}

/// Runs the cases; the error is what was said.
pub(crate) async fn run(interpreter: &Path, maar: &Maar) -> Result<(), String> {
    let folder = maar.make_folder("python");
    std::fs::write(folder.join("python_client.py"), CASES).unwrap();
    let mut command = Command::new(interpreter);
    command.arg("python_client.py").env("KUBECONFIG", maar.kubeconfig()).current_dir(&folder);
    let said = program::run(command, "").await;
    said.out.lines().for_each(say);
    if said.success { Ok(()) } else { Err(said.out + &said.err) }
}
