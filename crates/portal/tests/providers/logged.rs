//! What the log holds of requests.

use std::{
    fmt::{Debug, Write as _},
    sync::Arc,
};

use parking_lot::Mutex;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use super::{desk::Desk, idp::Idp};

/// Everything that is said while it listens, in one text.
#[derive(Debug, Clone, Default)]
struct Heard(Arc<Mutex<String>>);

impl Visit for Heard {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _ = write!(self.0.lock(), "{field}={value:?} ");
    }
}

impl Subscriber for Heard {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

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
