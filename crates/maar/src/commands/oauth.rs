//! Signing in at the portal's OpenID provider: with a browser on this machine, or with any other.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use maar_portal::ProofKey;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    time::{Instant, sleep, timeout},
};

use super::{failure::Failure, remote::Remote};

const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// How long somebody has to sign in.
const PATIENCE: Duration = Duration::from_mins(5);

fn tell(text: &str) {
    // Beside what programs read.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn refusal(said: &Value) -> Failure {
    let why = said["error_description"].as_str().or_else(|| said["message"].as_str());
    Failure::refused(format!("the portal refused: {}", why.unwrap_or("it did not say why")))
}

pub(crate) fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| anyhow::anyhow!("the system has no randomness"))?;
    Ok(bytes)
}

/// New tokens for a refresh token; nothing if it is worth nothing any more.
pub(crate) async fn by_refresh(remote: &Remote, client: &str, token: &str) -> anyhow::Result<Option<Value>> {
    let pairs = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", client)];
    let (status, said) = remote.form("/oauth/token", &pairs).await?;
    match said["error"].as_str() {
        None if status.is_success() => Ok(Some(said)),
        Some("invalid_grant") => Ok(None),
        _ => Err(refusal(&said).into()),
    }
}

/// Tokens, after somebody has typed a code into any browser.
pub(crate) async fn by_device(remote: &Remote, client: &str, scope: &str) -> anyhow::Result<Value> {
    let (status, begun) = remote.form("/oauth/device", &[("client_id", client), ("scope", scope)]).await?;
    if !status.is_success() {
        return Err(refusal(&begun).into());
    }
    let text =
        |field: &str| begun[field].as_str().with_context(|| format!("the portal did not say its {field}"));
    let (code, address) = (text("device_code")?, text("verification_uri")?);
    tell(&format!(
        "Open {address} in any browser and type the code {}\nwaiting for your answer there …\n",
        text("user_code")?
    ));
    let mut between = Duration::from_secs(begun["interval"].as_u64().unwrap_or(5));
    let end = Instant::now() + Duration::from_secs(begun["expires_in"].as_u64().unwrap_or(600));
    while Instant::now() < end {
        sleep(between).await;
        let pairs = [("grant_type", DEVICE), ("device_code", code), ("client_id", client)];
        let (status, said) = remote.form("/oauth/token", &pairs).await?;
        match said["error"].as_str() {
            None if status.is_success() => return Ok(said),
            Some("authorization_pending") => {}
            Some("slow_down") => between += Duration::from_secs(5),
            _ => return Err(refusal(&said).into()),
        }
    }
    Err(Failure::refused("nobody answered in time: begin anew").into())
}

/// Tokens, after somebody has signed in with the browser of this machine, which comes back to a port of ours.
pub(crate) async fn by_browser(remote: &Remote, client: &str, scope: &str) -> anyhow::Result<Value> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("listening for the browser")?;
    let redirect = format!("http://127.0.0.1:{}/callback", listener.local_addr()?.port());
    let (proof, state) = (ProofKey::new(random()?), ProofKey::new(random()?).verifier);
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("client_id", client),
            ("redirect_uri", &redirect),
            ("response_type", "code"),
            ("scope", scope),
            ("state", &state),
            ("code_challenge", &proof.challenge),
            ("code_challenge_method", "S256"),
        ])
        .finish();
    let address = format!("{}/oauth/authorize?{query}", remote.address());
    tell(&format!("Sign in with the browser of this machine:\n  {address}\n"));
    open(&address);
    let late = || Failure::refused("nobody signed in within five minutes");
    let code = timeout(PATIENCE, answer(&listener, &state)).await.map_err(|_| late())??;
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", &redirect),
        ("client_id", client),
        ("code_verifier", &proof.verifier),
    ];
    let (status, said) = remote.form("/oauth/token", &pairs).await?;
    if status.is_success() { Ok(said) } else { Err(refusal(&said).into()) }
}

/// Opens the browser, where there is one; the address is shown in any case.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    let _ = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

/// The code that the browser brings. Others who knock meanwhile do not know the state, and get nothing.
async fn answer(listener: &TcpListener, state: &str) -> anyhow::Result<String> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let Ok(Ok(line)) = timeout(Duration::from_secs(5), request_line(&mut stream)).await else { continue };
        let read = read_answer(&line, state);
        let text = match &read {
            Some(Ok(_)) => "You are signed in. This page can be closed.",
            Some(Err(_)) => "You are not signed in. The terminal says why.",
            None => "There is nothing here.",
        };
        let head = "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
        let said = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n{text}", text.len());
        let _ = stream.write_all(said.as_bytes()).await;
        let _ = stream.shutdown().await;
        if let Some(read) = read {
            return read.map_err(|why| Failure::refused(format!("the portal refused: {why}")).into());
        }
    }
}

async fn request_line(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut line = String::new();
    let mut reader = BufReader::new(tokio::io::AsyncReadExt::take(stream, 16 << 10));
    reader.read_line(&mut line).await?;
    Ok(line)
}

/// The code or the refusal in the first line of a request; nothing if it is none of ours.
fn read_answer(line: &str, state: &str) -> Option<Result<String, String>> {
    let query = line.strip_prefix("GET /callback?")?.split(' ').next()?;
    let find = |name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.into_owned())
    };
    if find("state").as_deref() != Some(state) {
        return None;
    }
    match (find("code"), find("error")) {
        (Some(code), None) => Some(Ok(code)),
        (_, error) => Some(Err(find("error_description").or(error)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_browser_that_was_sent_is_answered() {
        let read = |line: &str| read_answer(line, "s");
        assert_eq!(read("GET /callback?code=c&state=s HTTP/1.1\r\n"), Some(Ok("c".to_owned())));
        let no = "GET /callback?error=access_denied&error_description=said+no&state=s HTTP/1.1\r\n";
        assert_eq!(read(no), Some(Err("said no".to_owned())));
        for other in [
            "GET /callback?code=c&state=other HTTP/1.1\r\n",
            "GET /callback?code=c HTTP/1.1\r\n",
            "GET /favicon.ico HTTP/1.1\r\n",
            "POST /callback?code=c&state=s HTTP/1.1\r\n",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
