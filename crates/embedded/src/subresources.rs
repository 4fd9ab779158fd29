//! The parts of objects with paths of their own, except `status`, which is an ordinary write.

mod binding;
mod connect;
mod eviction;
mod finalize;
mod proxy;
mod scale;

use std::sync::Arc;

pub(crate) use binding::{Binding, BindingMeta, Target};

use axum::body::Body;
use axum::response::Response;
use http::Method;
use hyper::upgrade::OnUpgrade;

use crate::resource::Subresource;
use crate::server::{Call, Server, read_body};
use crate::status::ApiError;

impl Server {
    pub(crate) async fn on_subresource(
        self: &Arc<Self>,
        call: &Call<'_>,
        subresource: Subresource,
        body: Body,
        upgrade: Option<OnUpgrade>,
    ) -> Result<Response, ApiError> {
        let method = &call.parts.method;
        match (subresource, method) {
            (
                Subresource::Approval | Subresource::EphemeralContainers | Subresource::Resize,
                &Method::GET | &Method::PUT | &Method::PATCH,
            ) => self.on_object(call, Some(subresource), body).await,
            (Subresource::Scale, _) => self.on_scale(call, &read_body(body).await?).await,
            (Subresource::Binding, &Method::POST) => self.on_binding(call, &read_body(body).await?).await,
            (Subresource::Eviction, &Method::POST) => self.on_eviction(call, &read_body(body).await?).await,
            (Subresource::Finalize, &Method::PUT) => self.on_finalize(call, &read_body(body).await?).await,
            (Subresource::Token, &Method::POST) => self.on_token(call, &read_body(body).await?).await,
            (Subresource::Log, &Method::GET) => self.on_log(call).await,
            (
                Subresource::Exec | Subresource::Attach | Subresource::PortForward,
                &Method::GET | &Method::POST,
            ) => self.on_session(call, subresource, body, upgrade).await,
            (Subresource::Proxy, _) => self.on_proxy(call, body, upgrade).await,
            _ => Err(ApiError::method_not_allowed()),
        }
    }
}
