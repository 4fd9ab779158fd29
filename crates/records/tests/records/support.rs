//! A database for a test in one line.

pub(crate) mod absent;
pub(crate) mod postgres;

use jiff::{SignedDuration, Timestamp};
use maar_records::{NewUser, PasswordHash, Records, User, UserId};
use tempfile::TempDir;

/// A database that is there while the test runs.
pub(crate) struct World {
    pub(crate) url: String,
    pub(crate) records: Records,
    _folder: Option<TempDir>,
}

impl World {
    /// A file, as in production.
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/records.db", folder.path().display());
        let records = Records::open(&url).await.unwrap();
        Self { url, records, _folder: Some(folder) }
    }

    /// A schema of its own in a real server, where there is one.
    pub(crate) async fn postgres(test: &str) -> Option<Self> {
        let url = postgres::schema(test).await?;
        let records = Records::open(&url).await.unwrap();
        Some(Self { url, records, _folder: None })
    }
}

/// Makes two tests of one: `on_both!(name, async |world: World| { … })`.
macro_rules! on_both {
    ($name:ident, $body:expr) => {
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let body = $body;
                body($crate::support::World::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let name = concat!(module_path!(), "::postgres");
                if let Some(world) = $crate::support::World::postgres(name).await {
                    let body = $body;
                    body(world).await;
                }
            }
        }
    };
}

/// So many seconds after the beginning of the tests' time.
pub(crate) fn at(seconds: i64) -> Timestamp {
    "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

/// A user to be, by the name.
pub(crate) fn new_user(name: &str) -> NewUser {
    NewUser {
        display_name: format!("{name} of the tests"),
        email: Some(format!("{name}@example.com")),
        password_hash: Some(PasswordHash::new(format!("hash of {name}"))),
        ..NewUser::named(UserId::new(format!("id-{name}")), name)
    }
}

/// A user who is.
pub(crate) async fn user(records: &Records, name: &str) -> User {
    records.create_user(&new_user(name), at(0)).await.unwrap()
}

/// An administrator who is.
pub(crate) async fn admin(records: &Records, name: &str) -> User {
    records.create_user(&NewUser { admin: true, ..new_user(name) }, at(0)).await.unwrap()
}
