//! A real PostgreSQL for the tests of this process: in a temporary folder, on a socket there, gone when the process is.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::absent::absent;

/// Runs the server until its own input ends, which it does when the process that holds the other end is gone, however it
/// went; then stops the server by its id and removes the folder.
const GUARD: &str = r#"
folder=$1; shift
"$@" >"$folder/log" 2>&1 &
server=$!
read -r _
kill -INT "$server"
wait "$server"
rm -rf "$folder"
"#;

static SERVER: OnceCell<Option<Server>> = OnceCell::const_new();
static SCHEMAS: AtomicU32 = AtomicU32::new(0);

struct Server {
    folder: PathBuf,
    _guard: Child,
}

/// The address of a new schema, or nothing where there is no PostgreSQL.
pub(crate) async fn schema(test: &str) -> Option<String> {
    let Some(server) = SERVER.get_or_init(start).await else {
        absent("postgres", test);
        return None;
    };
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let statement = format!("CREATE SCHEMA s{number}");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    Some(format!("{}&options[search_path]=s{number}", server.url()))
}

impl Server {
    fn url(&self) -> String {
        format!("postgres://maar@localhost/postgres?host={}", self.folder.display())
    }
}

async fn start() -> Option<Server> {
    let programs = programs()?;
    let folder = TempDir::new().unwrap().keep();
    let user = unprivileged(&folder);
    let data = folder.join("data");
    let mut create = as_user(user, &programs.join("initdb"));
    create.args(["--auth=trust", "--username=maar", "--encoding=UTF8", "--no-sync", "--pgdata"]).arg(&data);
    let output = create.output().unwrap();
    assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));

    let mut serve = as_user(user, &programs.join("postgres"));
    serve.arg("-D").arg(&data).arg("-k").arg(&folder);
    serve.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300"]);
    let guard = Command::new("sh")
        .args(["-c", GUARD, "guard"])
        .arg(&folder)
        .arg(serve.get_program())
        .args(serve.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server { folder, _guard: guard };
    server.answers().await;
    Some(server)
}

impl Server {
    /// Waits until it does.
    async fn answers(&self) {
        for _ in 0..600 {
            if PgConnection::connect(&self.url()).await.is_ok() {
                return;
            }
            // A server that starts tells nobody; this is the one wait on the wall clock.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("PostgreSQL did not start: {log}");
    }
}

/// Where the programs are: on the path, or where Debian keeps them.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path().join("bin")).collect())
        .unwrap_or_default();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    folders.into_iter().find(|folder| folder.join("postgres").exists() && folder.join("initdb").exists())
}

/// PostgreSQL refuses to run as root: the user and group to run as instead, who get the folder.
fn unprivileged(folder: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    if std::fs::metadata(folder).unwrap().uid() != 0 {
        return None;
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let ids = ["postgres", "nobody"].iter().find_map(|name| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    });
    let Some((user, group)) = ids else { panic!("there is no user without rights to run PostgreSQL as") };
    chown(folder, Some(user), Some(group)).unwrap();
    Some((user, group))
}

fn as_user(user: Option<(u32, u32)>, program: &Path) -> Command {
    let Some((user, group)) = user else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups").arg(program);
    command
}
