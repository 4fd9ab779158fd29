//! Routes of the provider. Programs of others find them at the root, as the standards have it.

use super::{
    handlers,
    questions::{self, ConsentView, DeviceView, Reply, Way},
};
use crate::{
    access::{Kind, Verb},
    route::{
        Method::{Get, Post},
        Route, Target,
    },
};

type Document = serde_json::Map<String, serde_json::Value>;

pub(crate) fn routes() -> Vec<Route> {
    let see = (Verb::See, Target::Public);
    let change = (Verb::Change, Target::Public);
    vec![
        Route::at_once(Get, "/.well-known/openid-configuration", "discoverIssuer", see, handlers::discovery)
            .says("What the OpenID provider can do, and where")
            .answers::<Document>()
            .foreign(),
        Route::new(Get, "/oauth/keys", "listIssuerKeys", see, handlers::keys)
            .says("Keys that tokens are checked with")
            .answers::<Document>()
            .foreign(),
        Route::new(Get, "/oauth/authorize", "authorize", see, handlers::authorize)
            .says("A client sends a browser to sign in; goes on to the client, or asks its user first")
            .redirects(),
        Route::at_once(Post, "/oauth/authorize", "authorizeByForm", change, handlers::authorize_by_form)
            .says("The same with a form")
            .redirects()
            .foreign()
            .audits_itself(),
        Route::new(Post, "/oauth/token", "issueToken", change, handlers::token)
            .says("A code, a refresh token or a device becomes tokens")
            .answers::<Document>()
            .foreign()
            .audits_itself(),
        Route::new(Get, "/oauth/userinfo", "readUserinfo", see, handlers::userinfo)
            .says("Who the user of an access token is")
            .answers::<Document>()
            .foreign(),
        Route::new(Post, "/oauth/userinfo", "readUserinfoByForm", change, handlers::userinfo)
            .says("The same")
            .answers::<Document>()
            .foreign()
            .audits_itself(),
        Route::new(Post, "/oauth/device", "beginDevice", change, handlers::device)
            .says("A program without a browser begins to sign in")
            .answers::<Document>()
            .foreign()
            .audits_itself(),
        Route::new(Post, "/oauth/revoke", "revokeToken", change, handlers::revoke)
            .says("A client takes a token back")
            .answers_text("application/json")
            .foreign()
            .audits_itself(),
    ]
    .into_iter()
    .chain(of_questions())
    .collect()
}

/// What people answer, on pages of the portal.
fn of_questions() -> Vec<Route> {
    let own = Target::Asker(Kind::Own);
    vec![
        Route::new(Get, "/consents/{id}", "getConsent", (Verb::See, own), questions::consent)
            .says("What a client asks for")
            .answers::<ConsentView>(),
        Route::new(Post, "/consents/{id}", "answerConsent", (Verb::Change, own), questions::answer)
            .says("Agree, or not; the browser goes on to the address that is answered")
            .takes::<Reply>()
            .answers::<Way>(),
        Route::new(Get, "/device/{code}", "getDevice", (Verb::See, own), questions::device)
            .says("The program that waits with a code")
            .answers::<DeviceView>(),
        Route::new(Post, "/device/{code}", "answerDevice", (Verb::Change, own), questions::answer_device)
            .says("Let it in in one's own name, or not")
            .takes::<Reply>(),
    ]
}
