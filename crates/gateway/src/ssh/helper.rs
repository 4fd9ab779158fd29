//! The helper, and how it gets into a Pod: only when something needs it and it is not there, as a file of ours alone.

use super::{command, machine::HEAD, programs::Program};
use crate::pod::{Input, Output, Part, Place, PodError, in_time};

/// How much is sent at once.
const PART: usize = 32 * 1024;

/// Why there is no helper.
#[derive(Debug, thiserror::Error)]
pub(super) enum HelperError {
    #[error(transparent)]
    Pod(#[from] PodError),
    /// The container has no shell, no place, another processor, …
    #[error("the helper cannot be brought into the container: {0}")]
    Refused(String),
}

/// Begins the helper with these arguments, and brings it along where it is not there.
pub(super) async fn begin(place: &Place, arguments: &[&str]) -> Result<(Input, Output), HelperError> {
    let usual = place.helpers.usual();
    if let Some(begun) = in_time(begun(place, usual, arguments)).await? {
        return Ok(begun);
    }
    let head = in_time(head(place)).await?;
    let program = place.helpers.fitting(&head).map_err(HelperError::Refused)?;
    if program.digest != usual.digest
        && let Some(begun) = in_time(begun(place, program, arguments)).await?
    {
        return Ok(begun);
    }
    in_time(brought(place, program)).await?.map_err(HelperError::Refused)?;
    let gone = || HelperError::Refused("it is not where it was put".to_owned());
    in_time(begun(place, program, arguments)).await?.ok_or_else(gone)
}

/// The beginning of a program of the container.
async fn head(place: &Place) -> Result<Vec<u8>, PodError> {
    let (_input, mut output) = place.exec(&command::head(HEAD), false).await?;
    let mut head = Vec::new();
    loop {
        match output.next().await? {
            Part::Stdout(bytes) => head.extend_from_slice(&bytes[..bytes.len().min(HEAD - head.len())]),
            Part::Stderr(_) => {}
            Part::Ended(_) => return Ok(head),
        }
    }
}

/// The helper, if it is there.
async fn begun(
    place: &Place,
    program: &Program,
    arguments: &[&str],
) -> Result<Option<(Input, Output)>, PodError> {
    let words = command::helper(command::PLACES, &program.digest, arguments);
    let (input, mut output) = place.exec(&words, false).await?;
    loop {
        match output.next().await? {
            Part::Stdout(mut said) if said[0] == command::THERE => {
                // What it says itself may have come with it.
                output.put_back(said.split_off(1));
                return Ok(Some((input, output)));
            }
            Part::Stderr(_) => {}
            Part::Stdout(_) | Part::Ended(_) => return Ok(None),
        }
    }
}

/// Brings it there, or says why not.
async fn brought(place: &Place, program: &Program) -> Result<Result<(), String>, PodError> {
    let words = command::bring(command::PLACES, &program.digest, program.bytes.len());
    let (mut input, mut output) = place.exec(&words, false).await?;
    let sending = async {
        for part in program.bytes.chunks(PART) {
            // A script that has given up says why.
            if input.send(part).await.is_err() {
                break;
            }
        }
    };
    let ((), said) = tokio::join!(sending, output.text(4096));
    let (said, exit) = said?;
    match said.trim() {
        _ if exit.code == Some(0) => Ok(Ok(())),
        "" => Ok(Err(exit.message)),
        said => Ok(Err(said.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        os::unix::{
            fs::PermissionsExt as _,
            net::{UnixListener, UnixStream},
        },
        path::{Path, PathBuf},
        process::{Child, Command, Output, Stdio},
        sync::{Arc, LazyLock},
    };

    use axum::{
        Router,
        extract::{
            RawQuery,
            ws::{Message, WebSocket, WebSocketUpgrade},
        },
    };
    use futures::{SinkExt as _, StreamExt as _};
    use parking_lot::Mutex;

    use super::{
        super::{
            machine::Made,
            programs::{Helpers, tests::other},
        },
        *,
    };

    static HELPERS: LazyLock<Helpers> = LazyLock::new(Helpers::default);
    static PROGRAM: LazyLock<&[u8]> = LazyLock::new(|| &HELPERS.usual().bytes);
    static DIGEST: LazyLock<&str> = LazyLock::new(|| &HELPERS.usual().digest);

    /// What a container was asked to run: whether the helper is there, for which processor its programs are, to take one.
    type Asked = Arc<Mutex<Vec<(&'static str, String)>>>;

    /// A container on a processor, which answers as the scripts would.
    async fn container(head: Vec<u8>, asked: Asked, socket: WebSocket, words: Vec<String>) {
        let (mut to, mut from) = socket.split();
        let stdout = |bytes: &[u8]| Message::Binary([&[1], bytes].concat().into());
        let script = &words[2];
        if script.contains("/proc/self/exe") {
            asked.lock().push(("head", String::new()));
            to.send(stdout(&head)).await.unwrap();
        } else if script.contains("umask") {
            let (mut taken, size) = (Vec::new(), words[5].parse().unwrap());
            while taken.len() < size {
                let Some(Ok(Message::Binary(bytes))) = from.next().await else { panic!("it breaks off") };
                taken.extend_from_slice(&bytes[1..]);
            }
            assert_eq!(Program::new(&taken).digest, words[4], "what comes is what was said to come");
            asked.lock().push(("take", words[4].clone()));
        } else {
            let there = asked.lock().contains(&("take", words[4].clone()));
            asked.lock().push(("begin", words[4].clone()));
            if there {
                to.send(stdout(&[command::THERE])).await.unwrap();
                while let Some(Ok(_)) = from.next().await {}
                return;
            }
        }
        let ended = [&[3][..], br#"{"status":"Success"}"#].concat();
        to.send(Message::Binary(ended.into())).await.unwrap();
    }

    async fn place(head: Vec<u8>, helpers: Helpers) -> (Place, Asked) {
        let asked = Asked::default();
        let shared = Arc::clone(&asked);
        let exec = move |RawQuery(query): RawQuery, upgrade: WebSocketUpgrade| {
            let (head, asked) = (head.clone(), Arc::clone(&shared));
            let query = query.unwrap_or_default();
            let words = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "command");
            let words: Vec<String> = words.map(|(_, word)| word.into_owned()).collect();
            async move {
                let upgrade = upgrade.protocols(["v5.channel.k8s.io"]);
                upgrade.on_upgrade(move |socket| container(head, asked, socket, words))
            }
        };
        let router = Router::new().route("/api/v1/namespaces/n/pods/p/exec", axum::routing::any(exec));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        let (namespace, pod) = ("n".to_owned(), "p".to_owned());
        (Place { client, namespace, pod, container: None, helpers }, asked)
    }

    #[tokio::test]
    async fn a_container_on_another_processor_is_brought_the_helper_of_that_one() {
        let (own, (name, other)) = (PROGRAM[..HEAD].to_vec(), other());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(format!("maar-helper-{name}")), &other).unwrap();
        let helpers = Helpers::with_folder(folder.path()).unwrap();
        let (ours, theirs) = (DIGEST.to_owned(), Program::new(&other).digest);
        let begin = |of: &str| ("begin", of.to_owned());
        let (head, take) = (("head", String::new()), |of: &str| ("take", of.to_owned()));

        let (place, asked) = self::place(other[..HEAD].to_vec(), helpers.clone()).await;
        begin_it(&place).await.unwrap();
        assert_eq!(
            *asked.lock(),
            [begin(&ours), head.clone(), begin(&theirs), take(&theirs), begin(&theirs)]
        );
        begin_it(&place).await.unwrap();
        assert_eq!(asked.lock()[5..], [begin(&ours), head.clone(), begin(&theirs)], "it is there already");

        let (place, asked) = self::place(own, helpers).await;
        begin_it(&place).await.unwrap();
        assert_eq!(*asked.lock(), [begin(&ours), head.clone(), take(&ours), begin(&ours)]);

        let (place, asked) = self::place(other, Helpers::default()).await;
        let why = begin_it(&place).await.unwrap_err().to_string();
        assert!(why.contains(name) && why.contains("--ssh-helpers"), "{why}");
        assert_eq!(*asked.lock(), [begin(&ours), head], "nothing is sent that cannot run there");
    }

    async fn begin_it(place: &Place) -> Result<(), HelperError> {
        super::begin(place, &["sftp"]).await.map(drop)
    }

    #[test]
    fn a_real_shell_says_which_processor_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let said = script(&command::head(HEAD), folder.path(), b"").stdout;
        assert_eq!(said.len(), HEAD);
        assert_eq!(Made::read(&said), Made::read(&PROGRAM));
    }

    fn script(words: &[String], home: &Path, input: &[u8]) -> Output {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env("TMPDIR", home)
            .env("HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A script that reads nothing is over already.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    fn program(folder: &Path) -> PathBuf {
        let (written, path) = (folder.join("written"), folder.join("helper"));
        std::fs::write(&written, *PROGRAM).unwrap();
        // Not by us: a child that another test begins at this moment holds what we have open for writing, and a file that
        // is being written cannot be run.
        assert!(Command::new("cp").arg(&written).arg(&path).status().unwrap().success());
        std::fs::remove_file(&written).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    fn start(path: &Path, words: &[&str]) -> Child {
        let mut command = Command::new(path);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Only there: the machine that runs the tests may have helpers in other places.
    const HERE: &str = "\"$HOME\"";

    /// What the helper says, if it is found in a home.
    fn found(home: &Path) -> String {
        let begun = script(&command::helper(HERE, &DIGEST, &["digest"]), home, b"");
        String::from_utf8_lossy(&begun.stdout).trim().to_owned()
    }

    #[test]
    fn the_helper_arrives_whole_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        assert_eq!(found(home), "", "not there yet");
        let brought = script(&command::bring(HERE, &DIGEST, PROGRAM.len()), home, &PROGRAM);
        assert!(brought.status.success() && brought.stdout.is_empty(), "{brought:?}");
        let own = home.join(format!(".maar-{}", *DIGEST));
        assert_eq!(std::fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(found(home), format!("+{}", *DIGEST), "told first, then what it says itself");
        std::fs::write(own.join("helper"), b"#!/bin/sh\necho changed\n").unwrap();
        assert_eq!(found(home), "", "not the one we brought");
    }

    #[test]
    fn half_a_helper_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let brought = script(&command::bring(HERE, &DIGEST, 4096), folder.path(), &PROGRAM[..4096]);
        assert!(!brought.status.success() && brought.stdout.is_empty(), "{brought:?}");
        assert!(String::from_utf8_lossy(&brought.stderr).contains("did not arrive whole"), "{brought:?}");
    }

    #[test]
    fn a_link_that_somebody_laid_there_is_not_followed() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        program(elsewhere.path());
        let trap = folder.path().join(format!(".maar-{}", *DIGEST));
        std::os::unix::fs::symlink(elsewhere.path(), trap).unwrap();
        assert_eq!(found(folder.path()), "");
    }

    /// OpenSSH's own client against the helper, without SSH between them.
    #[test]
    fn the_sftp_client_of_openssh_finds_all_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let helper = program(here);
        std::fs::write(here.join("from"), (0..3_000_000_u32).map(|n| n.to_le_bytes()[0]).collect::<Vec<_>>())
            .unwrap();
        let batch = "put from to\nmkdir d\nrename to d/to\nchmod 640 d/to\nln -s to d/link\nls -la d\n\
                     get d/to back\nput -p from d/kept\nrm d/link\nreget d/to back\n-ls nowhere*\npwd\n";
        std::fs::write(here.join("batch"), batch).unwrap();
        let direct = format!("{} sftp", helper.display());
        let run = Command::new("sftp").args(["-b", "batch", "-D", &direct]).current_dir(here).output();
        let Ok(output) = run else {
            println!("absent: sftp (openssh-client)");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("-rw-r-----") && said.contains("lrwxrwxrwx"), "{said}");
        let read = |name: &str| std::fs::read(here.join(name)).unwrap();
        assert!(read("from") == read("back") && read("from") == read("d/kept"));
        assert!(!here.join("d/link").exists());
    }

    #[test]
    fn sftp_refuses_what_is_no_message_and_what_it_does_not_know() {
        let folder = tempfile::tempdir().unwrap();
        let helper = program(folder.path());
        let ask = |bytes: &[u8]| {
            let mut child = start(&helper, &["sftp"]);
            child.stdin.take().unwrap().write_all(bytes).unwrap();
            child.wait_with_output().unwrap()
        };
        assert!(!ask(&[255, 255, 255, 255]).status.success(), "no message is as long as this");
        let unknown = ask(&[0, 0, 0, 5, 99, 0, 0, 0, 7]);
        assert_eq!(unknown.stdout[4..13], [101, 0, 0, 0, 7, 0, 0, 0, 8], "not supported");
        let stale = ask(&[0, 0, 0, 13, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9]);
        assert_eq!(stale.stdout[4..13], [101, 0, 0, 0, 1, 0, 0, 0, 5], "no such handle");
    }

    /// The next frame that a helper says: its kind, the connection, the bytes.
    fn frame(output: &mut impl std::io::Read) -> (u8, u32, Vec<u8>) {
        let mut head = [0; 9];
        output.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes(head[5..].try_into().unwrap());
        let mut bytes = vec![0; length as usize];
        output.read_exact(&mut bytes).unwrap();
        (head[0], u32::from_be_bytes(head[1..5].try_into().unwrap()), bytes)
    }

    #[test]
    fn many_connections_are_carried_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(&program(folder.path()), &["listen", "127.0.0.1", "0"]);
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut frame = || frame(&mut output);
        let (kind, _, port) = frame();
        assert_eq!(kind, 0);
        let port = u16::from_be_bytes(port[..].try_into().unwrap());
        let mut first = TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert_eq!(frame().0, 1);
        let _second = TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert_eq!((frame().0, 2), (1, 2));
        first.write_all(b"hello").unwrap();
        assert_eq!(frame(), (2, 1, b"hello".to_vec()));
        input.write_all(&[2, 0, 0, 0, 1, 0, 0, 0, 2, b'h', b'i']).unwrap();
        let mut said = [0; 2];
        first.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"hi");
        assert_eq!(frame(), (5, 1, vec![0, 0, 0, 2]), "two more may be sent");
        first.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(frame(), (3, 1, Vec::new()));
        input.write_all(&[4, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
        assert_eq!(first.read(&mut said).unwrap_or(0), 0, "gone");
        drop(input);
        assert!(child.wait().unwrap().success(), "it ends with its input");
    }

    /// Where the first place will not do: one that is not there, and one whose path is too long for a socket.
    #[test]
    fn the_socket_of_an_agent_is_its_owners_alone_and_goes_with_the_helper() {
        let folder = tempfile::tempdir().unwrap();
        let helper = program(folder.path());
        let long = folder.path().join("x".repeat(100));
        std::fs::create_dir(&long).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (place, here) in [(folder.path(), true), (Path::new("/nowhere"), false), (&long, false)] {
            let mut command = Command::new(&helper);
            command.arg("agent").env("TMPDIR", place).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let (kind, _, path) = frame(&mut output);
            let path = PathBuf::from(String::from_utf8(path).unwrap());
            assert_eq!((kind, path.starts_with(place)), (6, here), "{}", path.display());
            let own = path.parent().unwrap();
            assert_eq!((mode(own), mode(&path)), (0o700, 0o600));
            let mut program = UnixStream::connect(&path).unwrap();
            assert_eq!(frame(&mut output), (1, 1, Vec::new()));
            program.write_all(b"keys?").unwrap();
            assert_eq!(frame(&mut output), (2, 1, b"keys?".to_vec()));
            input.write_all(&[2, 0, 0, 0, 1, 0, 0, 0, 2, b'n', b'o']).unwrap();
            let mut said = [0; 2];
            program.read_exact(&mut said).unwrap();
            assert_eq!(&said, b"no");
            drop(input);
            assert!(
                child.wait().unwrap().success(),
                "it ends with its input, also while somebody is connected"
            );
            assert!(!own.exists(), "{} is left", own.display());
            assert!(std::fs::read_dir(&long).unwrap().next().is_none(), "what was tried is not left");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port().to_string();
        let mut command = Command::new(program(folder.path()));
        let output = command.args(["listen", "127.0.0.1", &port]).output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("in use"), "{output:?}");
    }

    #[test]
    fn a_socket_in_the_pod_is_reached() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let child = start(&program(folder.path()), &["connect", path.to_str().unwrap()]);
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"from the pod").unwrap();
        drop(peer);
        assert_eq!(child.wait_with_output().unwrap().stdout, b"\0from the pod");
    }
}
