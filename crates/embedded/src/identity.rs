//! Who asks, and whether they may.

use axum::response::Response;
use http::Method;
use http::request::Parts;

use crate::request::{Query, Target, WriteOptions};
use crate::resource::Transient;
use crate::server::{Call, Caller, Server, UserInfo};
use crate::status::ApiError;

/// Put into a request's extensions by a transport that already knows the user: the in-process client.
#[derive(Clone, Debug)]
pub(crate) struct Trusted(pub(crate) UserInfo);

impl Server {
    /// The user of a request.
    pub(crate) fn authenticate(&self, parts: &Parts) -> Result<Caller, ApiError> {
        let Some(Trusted(user)) = parts.extensions.get::<Trusted>() else {
            return Err(ApiError::unauthorized());
        };
        let agent = parts.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
        let manager = agent.and_then(|agent| agent.split('/').next()).unwrap_or("unknown");
        Ok(Caller { user: user.clone(), manager: manager.to_owned() })
    }

    /// Whether the caller may do this.
    pub(crate) fn authorize(&self, _caller: &Caller, _verb: &str, _target: &Target) -> Result<(), ApiError> {
        Ok(())
    }

    /// Whether the caller may use this path, which is not a resource.
    pub(crate) fn authorize_path(&self, _caller: &Caller, _method: &Method, _path: &str) -> Result<(), ApiError> {
        Ok(())
    }

    /// Answers a question that is not stored.
    pub(crate) async fn on_transient(
        &self,
        what: Transient,
        caller: &Caller,
        target: &Target,
        query: &Query,
        body: &[u8],
    ) -> Result<Response, ApiError> {
        match what {
            Transient::Binding => {
                self.on_bindings(caller, &target.namespace, &WriteOptions::parse(query)?, body).await
            }
            _ => Err(ApiError::not_implemented(&target.resource)),
        }
    }

    /// A token for a service account.
    pub(crate) async fn on_token(&self, _call: &Call<'_>, _body: &[u8]) -> Result<Response, ApiError> {
        Err(ApiError::not_implemented("service account tokens"))
    }
}
