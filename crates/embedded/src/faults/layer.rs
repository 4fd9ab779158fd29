//! The layer between a component and the cluster.

use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri, header};
use kube::client::Body as KubeBody;
use tower::{BoxError, Layer, Service};

use super::component::Instance;
use super::gate::timed_out;
use super::watch::Wire;
use super::{Fault, Moment, Plan, Subject, watch};

/// Wraps the services of one component.
#[derive(Clone, Debug)]
pub struct FaultLayer {
    plan: Arc<Plan>,
    instance: Instance,
}

impl FaultLayer {
    pub(super) fn new(plan: Arc<Plan>, instance: Instance) -> Self {
        Self { plan, instance }
    }
}

impl<S> Layer<S> for FaultLayer {
    type Service = FaultService<S>;

    fn layer(&self, inner: S) -> FaultService<S> {
        FaultService::new(inner, Arc::clone(&self.plan), self.instance.clone())
    }
}

/// A service whose requests meet faults.
#[derive(Clone, Debug)]
pub struct FaultService<S> {
    inner: S,
    plan: Arc<Plan>,
    instance: Instance,
}

impl<S> FaultService<S> {
    pub(super) fn new(inner: S, plan: Arc<Plan>, instance: Instance) -> Self {
        Self { inner, plan, instance }
    }
}

impl<S, B> Service<Request<KubeBody>> for FaultService<S>
where
    S: Service<Request<KubeBody>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        // The clone takes our place, because it is ours that was asked whether it is ready.
        let clone = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, clone);
        let (plan, instance) = (Arc::clone(&self.plan), self.instance.clone());
        Box::pin(async move {
            let subject = Subject::of_request(&instance.name, request.method(), request.uri());
            let passage = Passage { plan: &plan, instance: &instance, subject: &subject };
            instance.alive(passage.send(inner, request)).await
        })
    }
}

/// One request on its way.
struct Passage<'a> {
    plan: &'a Arc<Plan>,
    instance: &'a Instance,
    subject: &'a Subject,
}

impl Passage<'_> {
    async fn send<S, B>(&self, inner: S, mut request: Request<KubeBody>) -> Result<Response<Body>, BoxError>
    where
        S: Service<Request<KubeBody>, Response = Response<B>>,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let Self { plan, subject, .. } = *self;
        if let Err(error) = plan.gate.pass(&subject.component).await {
            plan.record(subject, None, "disconnected");
            return Err(error);
        }
        let fault = plan.decide(subject);
        if let Some(fault) = &fault {
            if let Some(refusal) = fault.refusal(&subject.resource, &subject.name) {
                plan.record(subject, Some(fault), &refusal.code.to_string());
                return Ok(refusal.into_response());
            }
            match fault {
                Fault::Slow(wait) => tokio::time::sleep(*wait).await,
                Fault::Crash(Moment::Before) => self.crash(fault).await,
                Fault::StaleList { behind } => self.look_back(&mut request, *behind),
                _ => {}
            }
        }
        let upgrade = request.headers().contains_key(header::UPGRADE);
        if upgrade {
            request.extensions_mut().insert(Wire::new(Arc::clone(plan), self.instance.clone()));
        }
        let mut inner = inner;
        let response = inner.call(request).await.map_err(Into::into)?;
        match &fault {
            Some(fault @ Fault::Crash(Moment::After)) => self.crash(fault).await,
            Some(Fault::LostAnswer) => {
                plan.record(subject, fault.as_ref(), "lost");
                return Err(timed_out());
            }
            _ => plan.record(subject, fault.as_ref(), response.status().as_str()),
        }
        if !response.status().is_success() || upgrade {
            return Ok(response.map(Body::new));
        }
        let (plan, instance) = (Arc::clone(plan), self.instance.clone());
        Ok(response.map(|body| match (subject.verb, subject.subresource.as_str()) {
            ("watch", _) => watch::through(plan, instance, fault.as_ref(), Body::new(body)),
            ("get", "log") => watch::held(plan, instance, Body::new(body)),
            _ => Body::new(body),
        }))
    }

    async fn crash(&self, fault: &Fault) -> ! {
        self.plan.record(self.subject, Some(fault), "crashed");
        self.instance.die();
        std::future::pending().await
    }

    /// Asks for the list as it was some revisions ago, unless it is the next page of another list.
    fn look_back(&self, request: &mut Request<KubeBody>, behind: u64) {
        let revision = self.plan.store.revision().saturating_sub(behind).max(1);
        if let Some(uri) = older(request.uri(), revision) {
            *request.uri_mut() = uri;
        }
    }
}

/// The same list at an older revision.
fn older(uri: &Uri, revision: u64) -> Option<Uri> {
    let name = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
    let pairs: Vec<&str> =
        uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
    if pairs.iter().any(|pair| name(pair) == "continue") {
        return None;
    }
    let mut query: Vec<String> = pairs
        .iter()
        .filter(|pair| !matches!(name(pair).as_str(), "resourceVersion" | "resourceVersionMatch"))
        .map(|pair| (*pair).to_owned())
        .collect();
    query.push(format!("resourceVersion={revision}"));
    query.push("resourceVersionMatch=Exact".to_owned());
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{}?{}", uri.path(), query.join("&"))).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_list_keeps_its_other_options() {
        let uri = Uri::from_static("/api/v1/pods?resourceVersion=0&limit=5&labelSelector=a%3Db");
        let stale = older(&uri, 7).unwrap();
        assert_eq!(
            stale.to_string(),
            "/api/v1/pods?limit=5&labelSelector=a%3Db&resourceVersion=7&resourceVersionMatch=Exact"
        );
        assert_eq!(older(&Uri::from_static("/api/v1/pods?continue=abc"), 7), None);
    }
}
