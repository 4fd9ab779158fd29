//! Signing in as anybody, for those who develop Maar on their own machine.

use maar_records::{Identity, User};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Admission, admit::admit, profile::Profile};
use crate::{
    error::{ApiError, Code},
    identity::{
        attempt,
        login::{Refusal, conclude, welcome},
        users::check_name,
    },
    route::{Answer, Call},
};

/// How such sessions are called.
const DEVELOPMENT: &str = "development";

/// Who one wants to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DevelopmentLogin {
    /// The name of a user, who is made if there is none.
    user: String,
}

/// `POST /login/development`.
pub(in crate::identity) async fn development(call: Call) -> Result<Answer, ApiError> {
    if !call.portal.settings.development {
        return Err(ApiError::not_found("this provider"));
    }
    let asked: DevelopmentLogin = call.body()?;
    let shown = anybody(&call, &asked.user).await;
    welcome(&call, conclude(&call, DEVELOPMENT, &asked.user, shown).await?)
}

async fn anybody(call: &Call, name: &str) -> Result<User, Refusal> {
    // The portal listens on this machine alone, so whoever comes from elsewhere was led here by something before it.
    let elsewhere = call.address.is_some_and(|address| !address.to_canonical().is_loopback());
    let led =
        ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| call.headers().contains_key(*name));
    if elsewhere || led {
        return Err(ApiError::new(Code::Forbidden, "development mode is for this machine alone").into());
    }
    attempt::count_address(&call.portal, call.address).await?;
    check_name(name).map_err(|wrong| ApiError::invalid("user", wrong.why))?;
    if let Some(user) = call.portal.records.user_by_name(name).await? {
        return Ok(user);
    }
    let profile = Profile { name: Some(name.to_owned()), ..Profile::of(Identity::new(DEVELOPMENT, name)) };
    admit(&call.portal, &profile, &Admission { admin_groups: Vec::new(), trust_names: true }).await
}
