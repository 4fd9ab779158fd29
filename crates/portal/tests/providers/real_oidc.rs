//! A real OIDC provider: the npm package oidc-provider, in Node.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body};
use maar_testkit::ports::free_port;
use parking_lot::Mutex;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    absent::absent,
    desk::{Desk, Jar, ORIGIN},
    guarded::{Guarded, folder, program},
};

const LOCK: &str = include_str!("oidc/package-lock.json");
const PACKAGE: &str = include_str!("oidc/package.json");
const SCRIPT: &str = include_str!("oidc/provider.mjs");

struct Provider {
    issuer: String,
    _node: Guarded,
}

/// Where the packages are: installed once for each lock, outside the checkout.
pub(crate) fn packages(npm: &Path, name: &str, package: &str, lock: &str) -> Option<PathBuf> {
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let hash = format!("{:x}", Sha256::digest(lock));
    let place = home.join("maar").join(format!("{name}-{}", &hash[..16]));
    if place.join("node_modules").exists() {
        return Some(place);
    }
    // Made beside, and put in its place whole: several may do it at once, and one may be stopped midway.
    let making = place.with_extension(std::process::id().to_string());
    std::fs::create_dir_all(&making).ok()?;
    std::fs::write(making.join("package.json"), package).ok()?;
    std::fs::write(making.join("package-lock.json"), lock).ok()?;
    let mut install = Command::new(npm);
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&making);
    let installed = install.output().is_ok_and(|output| output.status.success());
    if installed {
        let _ = std::fs::rename(&making, &place);
    }
    let _ = std::fs::remove_dir_all(&making);
    place.join("node_modules").exists().then_some(place)
}

async fn provider(test: &str) -> Option<Provider> {
    let found = program("node").zip(program("npm"));
    let found = found.and_then(|(node, npm)| Some((node, packages(&npm, "oidc-provider", PACKAGE, LOCK)?)));
    let Some((node, packages)) = found else {
        absent("node, npm or the package oidc-provider", test);
        return None;
    };
    let (folder, port) = (folder("oidc-provider"), free_port());
    // Packages are looked for beside the script.
    std::os::unix::fs::symlink(packages.join("node_modules"), folder.join("node_modules")).unwrap();
    std::fs::write(folder.join("package.json"), PACKAGE).unwrap();
    std::fs::write(folder.join("provider.mjs"), SCRIPT).unwrap();
    let redirect = format!("{ORIGIN}/api/v1/login/corp/callback");
    let node = Guarded::run(&folder, &node, &["provider.mjs", &port.to_string(), &redirect]);
    node.listens(port).await;
    Some(Provider { issuer: format!("http://127.0.0.1:{port}"), _node: node })
}

/// A browser at the provider.
struct Visitor {
    issuer: String,
    client: Client,
    cookies: Mutex<BTreeMap<String, String>>,
}

impl Visitor {
    fn new(issuer: &str) -> Self {
        let client = Client::try_from(kube::Config::new(issuer.parse().unwrap())).unwrap();
        Self { issuer: issuer.to_owned(), client, cookies: Mutex::default() }
    }

    /// Where a page leads to, or a form that is sent to it.
    async fn visit(&self, address: &str, form: Option<&str>) -> String {
        let path = address.strip_prefix(&self.issuer).unwrap_or(address);
        let cookies: Vec<String> =
            self.cookies.lock().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::builder()
            .method(if form.is_some() { "POST" } else { "GET" })
            .uri(path)
            .header(header::COOKIE, cookies.join("; "))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form.unwrap_or_default().as_bytes().to_vec()))
            .unwrap();
        let (parts, body) = self.client.send(request).await.unwrap().into_parts();
        for cookie in parts.headers.get_all(header::SET_COOKIE) {
            let (name, value) = cookie.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.lock().insert(name.to_owned(), value.to_owned());
        }
        let text = body.collect().await.unwrap().to_bytes();
        let next = parts.headers.get(header::LOCATION);
        let next = next.unwrap_or_else(|| panic!("{path}: {} {text:?}", parts.status));
        next.to_str().unwrap().to_owned()
    }

    /// Signs in as somebody, agrees, and is sent back.
    async fn signs_in(&self, location: &str, name: &str) -> String {
        let form = format!("prompt=login&login={name}&password=any");
        let question = self.visit(location, None).await;
        let consent = self.visit(&self.visit(&question, Some(&form)).await, None).await;
        let end = self.visit(&self.visit(&consent, Some("prompt=consent")).await, None).await;
        end.strip_prefix(ORIGIN).unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_of_a_real_provider_sign_in() {
    let Some(provider) = provider("people_of_a_real_provider_sign_in").await else { return };
    let config = format!(
        "providers:\n- {{ kind: oidc, id: corp, issuer: '{}', clientId: maar, clientSecretFile: secret, userinfo: true, \
         scopes: [openid, profile, email, groups], adminGroups: [gpu-admins] }}\n",
        provider.issuer
    );
    let desk = Desk::new(&config).await;
    let signs_in = async |name: &str| -> Jar {
        let jar = desk.browser();
        let location = jar.follow("/login/corp/begin?back=/nodes").await;
        let back = Visitor::new(&provider.issuer).signs_in(&location, name).await;
        assert_eq!(jar.follow(&back).await, "/nodes");
        jar
    };
    let ada = signs_in("ada").await.me().await;
    assert_eq!(
        (&ada["name"], &ada["displayName"], &ada["email"], &ada["platformAdmin"]),
        (&json!("ada"), &json!("Ada Lovelace"), &json!("ada@corp.example"), &json!(true))
    );
    assert_eq!(signs_in("ada").await.me().await["id"], ada["id"]);
    // Eve calls herself admin, with the address of Ada.
    let eve = signs_in("eve").await.me().await;
    assert!(eve["id"] != ada["id"] && eve["name"].as_str().unwrap().starts_with("admin-"), "{eve}");
    assert_eq!(eve["platformAdmin"], false);
    // The way back of one browser is worth nothing in another.
    let begun = desk.browser();
    let location = begun.follow("/login/corp/begin").await;
    let back = Visitor::new(&provider.issuer).signs_in(&location, "ada").await;
    let victim = desk.browser();
    assert!(victim.follow(&back).await.starts_with("/login?failed=loginRefused") && victim.is_nobody().await);
    // Nor is it without the right verifier: the login of another browser is under way there.
    let other = desk.browser();
    let state = |way: &str| way.split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let theirs = other.follow("/login/corp/begin").await;
    let mixed = back.replace(&state(&back), &state(&theirs));
    assert!(other.follow(&mixed).await.starts_with("/login?failed=loginRefused") && other.is_nobody().await);
    let why = desk.logins(&desk.admin().await).await;
    let why =
        why.iter().find_map(|entry| entry["detail"].as_str().filter(|why| why.contains("invalid_grant")));
    assert!(why.is_some(), "the provider noticed by PKCE");
}
