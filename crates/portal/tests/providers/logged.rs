//! What the log holds of requests.

use super::{desk::Desk, heard::Heard, idp::Idp};

#[tokio::test]
async fn what_stands_in_an_address_is_not_logged() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("")).await;
    let admin = desk.admin().await;
    let paths = [
        "/login/corp/callback?code=hunter2&state=hunter2",
        "/oauth/authorize?client_id=hunter2&state=hunter2",
        "/users?search=hunter2",
        "/workspaces/hunter2/hunter2",
        "/nothing/hunter2?token=hunter2",
    ];
    // While there is only one listener, a place in the code that a thread without one reaches first is taken for a place
    // that nobody wants to hear of, and other tests have none. With two, all of them are asked.
    let _company = tracing::Dispatch::new(Heard::default());
    let heard = Heard::default();
    let listening = tracing::subscriber::set_default(heard.clone());
    for path in paths {
        admin.raw("GET", path, None).await;
    }
    drop(listening);
    let text = heard.0.lock().clone();
    assert!(text.contains("listUsers") && text.contains("answered"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
