//! Routes of signing in, of oneself and of users.

use super::{
    handlers::{self, Me, PasswordChange, SessionView},
    keys::{self, KeyView, MadeKey, NewKeyRequest},
    limits::{self, LimitsRequest, LimitsView},
    login::{self, Login},
    preferences::{self, Preferences},
    provider::{self, BackQuery, CallbackQuery, DevelopmentLogin, LoginProviders},
    users::{self, MadePassword, NewUserRequest, UserChangeRequest, UserQuery, UserView},
};
use crate::{
    access::{Kind, Verb},
    page::{Page, PageQuery},
    route::{
        Method::{Delete, Get, Post, Put},
        Route, Target,
    },
};

pub(crate) fn routes() -> Vec<Route> {
    let own = Target::Asker(Kind::Own);
    let sessions = Target::Asker(Kind::Session);
    let keys = Target::Asker(Kind::Key);
    vec![
        Route::new(Post, "/login", "login", (Verb::Change, Target::Public), login::login)
            .says("Sign in with name and password; answers with a cookie")
            .takes::<Login>()
            .answers::<Me>()
            .audits_itself(),
        Route::new(Post, "/logout", "logout", (Verb::Change, own), login::logout).says("End this session"),
        Route::new(Get, "/me", "getMe", (Verb::See, own), handlers::me)
            .says("Who is signed in, and what he may")
            .answers::<Me>(),
        Route::new(Put, "/me/password", "changePassword", (Verb::Change, own), handlers::change_password)
            .says("Change the own password; all other sessions end")
            .takes::<PasswordChange>(),
        Route::new(Get, "/me/sessions", "listSessions", (Verb::See, sessions), handlers::sessions)
            .says("The own sessions")
            .query::<PageQuery>()
            .answers::<Page<SessionView>>(),
        Route::new(
            Delete,
            "/sessions/{id}",
            "revokeSession",
            (Verb::Delete, Target::Session),
            handlers::revoke_session,
        )
        .says("End a session"),
        Route::new(Get, "/me/keys", "listKeys", (Verb::See, keys), keys::list)
            .says("The own API keys, without their secrets")
            .query::<PageQuery>()
            .answers::<Page<KeyView>>(),
        Route::new(Post, "/me/keys", "createKey", (Verb::Start, keys), keys::create)
            .says("Make an API key; its secret is shown this once")
            .takes::<NewKeyRequest>()
            .answers::<MadeKey>(),
        Route::new(Delete, "/keys/{id}", "revokeKey", (Verb::Delete, Target::Key), keys::revoke)
            .says("End an API key"),
    ]
    .into_iter()
    .chain(of_preferences())
    .chain(of_providers())
    .chain(of_users())
    .collect()
}

fn of_preferences() -> Vec<Route> {
    let own = Target::Asker(Kind::Own);
    vec![
        Route::new(Get, "/me/preferences", "getPreferences", (Verb::See, own), preferences::get)
            .says("What one has set for oneself: language, theme and more")
            .answers::<Preferences>(),
        Route::new(Put, "/me/preferences", "setPreferences", (Verb::Change, own), preferences::set)
            .says("Set all of it, in at most 8 kB")
            .takes::<Preferences>()
            .answers::<Preferences>(),
    ]
}

/// Ways in. What they take is checked as strictly as a password, and everything is written down by themselves.
fn of_providers() -> Vec<Route> {
    let see = (Verb::See, Target::Public);
    let change = (Verb::Change, Target::Public);
    vec![
        Route::at_once(Get, "/login/providers", "listProviders", see, provider::list)
            .says("How one can sign in")
            .answers::<LoginProviders>(),
        Route::new(Get, "/login/{provider}/begin", "beginLogin", see, provider::begin)
            .says("Go to a provider to sign in; for browsers")
            .query::<BackQuery>()
            .redirects(),
        Route::new(Get, "/login/{provider}/callback", "finishLogin", see, provider::callback)
            .says("Come back from a provider; goes on to the page one came from, or to /login?failed=…")
            .query::<CallbackQuery>()
            .redirects(),
        Route::new(Post, "/login/development", "loginDevelopment", change, provider::development)
            .says("Sign in as anybody, where the portal was told to let everybody")
            .takes::<DevelopmentLogin>()
            .answers::<Me>()
            .audits_itself(),
        Route::new(Post, "/login/{provider}", "loginProvider", change, provider::login)
            .says("Sign in with name and password of a directory; answers with a cookie")
            .takes::<Login>()
            .answers::<Me>()
            .audits_itself(),
    ]
}

fn of_users() -> Vec<Route> {
    let users = Target::Cluster(Kind::User);
    vec![
        Route::new(Get, "/users", "listUsers", (Verb::See, users), users::list)
            .says("All users")
            .query::<UserQuery>()
            .query::<PageQuery>()
            .answers::<Page<UserView>>(),
        Route::new(Post, "/users", "createUser", (Verb::Start, users), users::create)
            .says("Make a user; his first password is shown this once")
            .takes::<NewUserRequest>()
            .answers::<MadePassword>(),
        Route::new(Put, "/users/{id}", "changeUser", (Verb::Change, Target::User), users::change)
            .says("Disable or enable a user, make him an administrator, or let his account end")
            .takes::<UserChangeRequest>()
            .answers::<UserView>(),
        Route::new(
            Post,
            "/users/{id}/password",
            "resetPassword",
            (Verb::Change, Target::User),
            users::reset_password,
        )
        .says("Give a user a new password, which he has to change; all his sessions end")
        .answers::<MadePassword>(),
        Route::new(
            Get,
            "/users/{id}/sessions",
            "listSessionsOfUser",
            (Verb::See, Target::User),
            users::sessions,
        )
        .says("Sessions of a user")
        .query::<PageQuery>()
        .answers::<Page<SessionView>>(),
        Route::new(
            Delete,
            "/users/{id}/sessions",
            "revokeSessionsOfUser",
            (Verb::Delete, Target::User),
            users::revoke_sessions,
        )
        .says("End all sessions of a user"),
        Route::at_once(Get, "/users/{id}/limits", "getLimits", (Verb::See, Target::User), limits::get)
            .says("The most that a user may have, and what of it was said of him")
            .answers::<LimitsView>(),
        Route::new(Put, "/users/{id}/limits", "setLimits", (Verb::Change, Target::User), limits::set)
            .says("Set the most that a user may have, whichever account pays; it holds at once")
            .takes::<LimitsRequest>()
            .answers::<LimitsView>(),
    ]
}
