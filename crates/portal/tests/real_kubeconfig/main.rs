//! A real kube-apiserver believes the certificates and tokens of the portal, and refuses those that are expired, foreign or
//! changed. The portal runs here, with exactly the rights of deploy/rbac on that server; kubectl is the real one.
//!
//! Run by `make real`: it starts a control plane of its own, since the API server has to be told of the provider.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "../../../nodes/tests/support/absent.rs"]
mod absent;
#[expect(dead_code, reason = "shared with the tests on the embedded cluster, which use all of it")]
#[path = "../portal/browser.rs"]
mod browser;
mod desk;
mod forged;
mod server;
mod world {
    pub(crate) const ORIGIN: &str = "http://portal.test";
}

use desk::{Desk, shifted};
use rcgen::{Issuer, KeyPair};
use serde_json::json;
use server::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real API server: see dev/real"]
async fn a_real_api_server_believes_us_and_nobody_who_pretends() {
    let Some(server) = Server::start() else { return };
    let desk = Desk::start(&server).await;
    let ada = desk.user("ada").await;
    let own = ada.namespace.clone();
    desk.account(&server, "lab", "ada").await;

    for mode in ["certificate", "token"] {
        let (id, kubeconfig) = ada.kubeconfig(mode).await;
        let kubectl = |words: &[&str]| server.kubectl(&kubeconfig, words);
        assert_eq!(kubectl(&["get", "pods"]), Ok(()), "{mode}");
        assert!(kubectl(&["get", "pods", "-n", "default"]).unwrap_err().contains("Forbidden"), "{mode}");
        assert!(kubectl(&["get", "secrets"]).unwrap_err().contains("Forbidden"), "{mode}");
        assert!(kubectl(&["run", "x", "--image=x"]).unwrap_err().contains("Forbidden"), "{mode}");
        assert_eq!(kubectl(&["create", "configmap", mode]), Ok(()), "{mode}");
        ada.revoke(&id).await;
        let after = kubectl(&["get", "pods"]).unwrap_err();
        assert!(
            after.contains("Forbidden") || after.contains("logged in") || after.contains("Unauthorized"),
            "{after}"
        );
    }

    let (id, _) = ada.kubeconfig("certificate").await;
    let name = format!("maar:{}:{id}", ada.id);
    let with = |authority: &Issuer<'_, KeyPair>, years| {
        let kubeconfig = forged::kubeconfig(&server, authority, &name, years);
        server.kubectl(&kubeconfig, &["get", "pods", "--namespace", &own])
    };
    let (ours, theirs) = (forged::own_authority(&server), forged::foreign_authority(&server));
    assert_eq!(with(&ours, (2020, 2090)), Ok(()), "what is refused below is refused for one reason");
    for (what, authority, years) in [
        ("expired", &ours, (2020, 2024)),
        ("not valid yet", &ours, (2089, 2090)),
        ("signed by another", &theirs, (2020, 2090)),
    ] {
        let said = with(authority, years).unwrap_err();
        assert!(said.contains("Unauthorized") || said.contains("logged in"), "{what}: {said}");
    }

    let id = ada.kubeconfig("oidc").await.0;
    let token = desk.id_token(&ada, "kubernetes", &id).await;
    // The server reads the provider's keys when it first can.
    server.eventually_believes(&token, &own).await;
    assert_eq!(server.with_token(&token, &own), Ok(()));
    assert!(server.with_token(&token, "default").unwrap_err().contains("Forbidden"), "it knows who that is");
    let who = server.whoami(&token);
    assert!(who.contains(&format!("maar:{}", ada.id)) && who.contains("maar:account:lab"), "{who}");

    let refused = |token: &str, what: &str| {
        let said = server.with_token(token, &own).unwrap_err();
        assert!(said.contains("Unauthorized") || said.contains("logged in"), "{what}: {said}");
    };
    refused(&changed(&token), "changed");
    refused(&desk.id_token(&ada, "elsewhere", "").await, "for another audience");
    // The same provider by name, with other keys; and with our keys, an hour ago.
    let foreign = Desk::foreign(&server).await;
    let eve = foreign.user("ada").await;
    let hers = foreign.known_kubeconfig(&eve).await;
    refused(&foreign.id_token(&eve, "kubernetes", &hers).await, "signed by another");
    let old = desk.with_clock(&server, -shifted(1)).await;
    let before = old.sign_in("ada").await;
    refused(&old.id_token(&before, "kubernetes", &id).await, "expired");

    ada.revoke(&id).await;
    let said = server.with_token(&token, &own).unwrap_err();
    assert!(said.contains("Forbidden"), "believed for its last minutes, and may nothing: {said}");
    assert_eq!(desk.refreshed().await, json!("invalid_grant"), "and there are no new ones");
    server.stop();
}

/// The token with other claims, and the signature it had.
fn changed(token: &str) -> String {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    let parts: Vec<&str> = token.split('.').collect();
    let claims = BASE64_URL_SAFE_NO_PAD.decode(parts[1]).unwrap();
    let mut claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    claims["groups"] = json!(["system:masters"]);
    format!("{}.{}.{}", parts[0], BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()), parts[2])
}
