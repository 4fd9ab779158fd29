//! Where the API server itself is reached: the Endpoints and the EndpointSlice of `default/kubernetes`.
//!
//! They say what others can use. A cluster without a listener has no address, and one that listens on the loopback
//! interface alone none that Endpoints may hold: it is another machine's own. Then there are none. The Service stays as
//! it was made, as on a real server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::local::{Kind, Local};
use crate::server::Server;
use crate::status::ApiError;
use crate::verbs::DeleteOptions;

/// How often it is seen to that they still say so.
const EVERY: Duration = Duration::from_secs(10);

/// How long taking them back may hold up a start or an end.
const LAST_WORD: Duration = Duration::from_secs(2);

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
/// Slices are made here, not by the controller that follows other Endpoints.
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";

/// Which listener is told of: the first that others can reach.
pub(super) type Advertised = Arc<Mutex<Option<SocketAddr>>>;

/// The address by which others reach a listener, if they can. Of a listener on all interfaces it is the one that
/// clients were said to know, else that of the interface that leads to the rest of the network.
pub(super) fn reachable(listening: SocketAddr, names: &[String]) -> Option<SocketAddr> {
    let bound = listening.ip();
    let address = if bound.is_unspecified() {
        let known = names.iter().filter_map(|name| name.parse::<IpAddr>().ok());
        known.into_iter().find(is_for_others).or_else(outgoing)
    } else {
        Some(bound)
    };
    let address = address.filter(is_for_others)?;
    Some(SocketAddr::new(address, listening.port()))
}

/// Whether an address means the same machine to others, as far as it shows.
fn is_for_others(address: &IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !address.is_loopback() && !address.is_unspecified() && !link_local
}

/// The address packets to the rest of the network would carry. Nothing is sent: the kernel is asked for the way.
fn outgoing() -> Option<IpAddr> {
    let elsewhere = Ipv4Addr::new(192, 0, 2, 1);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((elsewhere, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Tells of a listener for as long as it is there.
pub(super) async fn keep(
    server: Arc<Server>,
    told: Advertised,
    address: SocketAddr,
    stop: CancellationToken,
) {
    let local = Local::new(server, "kube-apiserver");
    let tell = async {
        loop {
            if *told.lock().get_or_insert(address) == address
                && let Err(error) = write(&local, Some(address)).await
            {
                tracing::warn!(%address, %error, "telling where the API server is reached failed");
            }
            tokio::time::sleep(EVERY).await;
        }
    };
    let _: Option<()> = stop.run_until_cancelled(tell).await;
    if *told.lock() == Some(address) {
        take_back(&local).await;
        *told.lock() = None;
    }
}

/// Takes back what an earlier process said and could not take back itself.
pub(super) async fn forget(server: &Arc<Server>) {
    take_back(&Local::new(Arc::clone(server), "kube-apiserver")).await;
}

/// Neither a start nor an end waits for it for long: a webhook may be silent.
async fn take_back(local: &Local) {
    match tokio::time::timeout(LAST_WORD, write(local, None)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "taking back where the API server is reached failed"),
        Err(_) => tracing::warn!("taking back where the API server is reached took too long"),
    }
}

async fn write(local: &Local, address: Option<SocketAddr>) -> Result<(), ApiError> {
    write_endpoints(local, address).await?;
    write_slice(local, address).await
}

async fn write_endpoints(local: &Local, address: Option<SocketAddr>) -> Result<(), ApiError> {
    let subsets = address.map(|address| {
        json!([{"addresses": [{"ip": address.ip()}],
            "ports": [{"name": "https", "port": address.port(), "protocol": "TCP"}]}])
    });
    let labels = json!({SKIP_MIRROR: "true"});
    let wanted: Endpoints =
        object(json!({"metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "subsets": subsets}))?;
    let change = |endpoints: &mut Endpoints| {
        endpoints.subsets.clone_from(&wanted.subsets);
        endpoints.metadata.labels.get_or_insert_default().insert(SKIP_MIRROR.to_owned(), "true".to_owned());
    };
    put(local, &wanted, address.is_some(), change).await
}

async fn write_slice(local: &Local, address: Option<SocketAddr>) -> Result<(), ApiError> {
    let existing: Option<EndpointSlice> = local.get(NAMESPACE, NAME);
    let kind = match (address, &existing) {
        (None, Some(existing)) => existing.address_type.as_str(),
        (Some(address), _) if address.is_ipv6() => "IPv6",
        _ => "IPv4",
    };
    if existing.as_ref().is_some_and(|existing| existing.address_type != kind) {
        // The kind of address of a slice cannot be changed.
        local.delete::<EndpointSlice>(NAMESPACE, NAME, &DeleteOptions::default()).await?;
    }
    let endpoints =
        address.map(|address| json!([{"addresses": [address.ip()], "conditions": {"ready": true}}]));
    let ports = address.map(|address| json!([{"name": "https", "port": address.port(), "protocol": "TCP"}]));
    let labels = json!({"kubernetes.io/service-name": NAME});
    let metadata = json!({"name": NAME, "namespace": NAMESPACE, "labels": labels});
    let wanted: EndpointSlice = object(json!({"metadata": metadata, "addressType": kind,
        "endpoints": endpoints, "ports": ports}))?;
    let change = |slice: &mut EndpointSlice| {
        slice.endpoints.clone_from(&wanted.endpoints);
        slice.ports.clone_from(&wanted.ports);
        slice.metadata.labels.clone_from(&wanted.metadata.labels);
    };
    put(local, &wanted, address.is_some(), change).await
}

fn object<K: Kind>(value: serde_json::Value) -> Result<K, ApiError> {
    serde_json::from_value(value).map_err(ApiError::internal)
}

/// Changes the object, or makes it if it is to be there.
async fn put<K: Kind>(
    local: &Local,
    wanted: &K,
    make: bool,
    change: impl Fn(&mut K) + Send + Sync,
) -> Result<(), ApiError> {
    if local.entry::<K>(NAMESPACE, NAME).is_some() {
        local.modify(NAMESPACE, NAME, change).await?;
    } else if make {
        local.create(wanted).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
