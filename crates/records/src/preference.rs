//! What a user has set for themselves: language, theme, columns. The pages know what is in it.

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use crate::database::Query;
use crate::{Records, Result, UserId, text};

/// The longest preferences, in bytes of JSON.
const MOST: usize = 64 * 1024;

impl Records {
    /// The preferences of a user; empty where they have set none.
    pub async fn preferences(&self, user: &UserId) -> Result<Map<String, Json>> {
        let query = Query::new("SELECT body FROM preferences WHERE user_id = $1").bind(user);
        let row = self.database.row(query).await?;
        row.map_or_else(|| Ok(Map::new()), |row| row.json("body"))
    }

    /// Sets the preferences of a user to these.
    pub async fn set_preferences(
        &self,
        user: &UserId,
        body: &Map<String, Json>,
        now: Timestamp,
    ) -> Result<()> {
        let body = text::json("preferences", &Json::Object(body.clone()), MOST)?;
        let query = Query::new(
            "INSERT INTO preferences (user_id, body, updated_at) VALUES ($1, $2, $3) \
             ON CONFLICT (user_id) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at",
        );
        self.database.write(query.bind(user).bind(body).bind(now)).await.map(|_| ())
    }
}
