//! Logs: text or JSON, with a level that can be changed while the process runs.

use std::{fmt, io, net::SocketAddr, str::FromStr};

use axum::{
    Router,
    extract::{ConnectInfo, DefaultBodyLimit, State},
    http::StatusCode,
    routing::get,
};
use tracing::{Subscriber, dispatcher::SetGlobalDefaultError, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    fmt::MakeWriter,
    layer::SubscriberExt,
    reload::{self, Handle},
};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines: one JSON object per line.
    Json,
}

/// Changes the log level of the running process. Clones change the same.
#[derive(Clone)]
pub struct LogLevel(Handle<EnvFilter, Registry>);

/// The level could not be set.
#[derive(Debug, thiserror::Error)]
pub enum LogLevelError {
    /// It is not a level.
    #[error(
        "{text:?} is not a log level: write error, warn, info, debug, trace or off, or directives such as \
         info,maar_controller=debug"
    )]
    Malformed {
        /// What was given, shortened.
        text: String,
    },
    /// The subscriber is not installed any more.
    #[error("no subscriber listens to changes of the log level")]
    Gone,
}

/// Logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level is wrong.
    #[error(transparent)]
    Level(#[from] LogLevelError),
    /// Somebody set up logging before.
    #[error("set up logging")]
    Installed(#[from] SetGlobalDefaultError),
}

/// Sets up logging to standard error for the whole process.
pub fn install(format: LogFormat, level: &str) -> Result<LogLevel, TelemetryError> {
    let (subscriber, level) = subscriber(format, level, io::stderr)?;
    tracing::subscriber::set_global_default(subscriber)?;
    Ok(level)
}

/// The subscriber that [`install`] installs, writing to `writer`.
pub fn subscriber<W>(
    format: LogFormat,
    level: &str,
    writer: W,
) -> Result<(impl Subscriber + Send + Sync + use<W>, LogLevel), LogLevelError>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(parse(level)?);
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    let layer = match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    Ok((Registry::default().with(filter).with(layer), LogLevel(handle)))
}

fn parse(text: &str) -> Result<EnvFilter, LogLevelError> {
    let text = text.trim();
    // A lone unknown word would otherwise be taken for the name of a crate to trace.
    let is_level = text.contains(['=', ',', '[']) || LevelFilter::from_str(text).is_ok() && !text.is_empty();
    let filter = EnvFilter::from_str(text).ok().filter(|_| is_level);
    filter.ok_or_else(|| LogLevelError::Malformed { text: text.chars().take(64).collect() })
}

impl LogLevel {
    /// The present level.
    pub fn get(&self) -> Result<String, LogLevelError> {
        self.0.with_current(ToString::to_string).map_err(|_| LogLevelError::Gone)
    }

    /// Takes effect at once, in the whole process.
    pub fn set(&self, level: &str) -> Result<(), LogLevelError> {
        self.0.reload(parse(level)?).map_err(|_| LogLevelError::Gone)
    }

    /// `GET` and `PUT /log-level`; the body is the level.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/log-level", get(read).put(change))
            .layer(DefaultBodyLimit::max(1024))
            .with_state(self.clone())
    }
}

impl fmt::Debug for LogLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("LogLevel").field(&self.get().ok()).finish()
    }
}

async fn read(State(level): State<LogLevel>) -> (StatusCode, String) {
    match level.get() {
        Ok(text) => (StatusCode::OK, format!("{text}\n")),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

async fn change(
    State(level): State<LogLevel>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    body: String,
) -> (StatusCode, String) {
    // Health is asked from everywhere, and nobody shows who he is here. Who forwards a port or enters the container comes
    // from the loopback, and has shown that he may.
    if !peer.ip().to_canonical().is_loopback() {
        let why = "the log level is changed from the loopback only, such as by kubectl port-forward\n";
        return (StatusCode::FORBIDDEN, why.to_owned());
    }
    match level.set(&body) {
        Ok(()) => {
            tracing::info!("log level is now {}", body.trim());
            (StatusCode::OK, format!("{}\n", body.trim()))
        }
        Err(error @ LogLevelError::Malformed { .. }) => (StatusCode::BAD_REQUEST, format!("{error}\n")),
        Err(error @ LogLevelError::Gone) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, sync::Arc};

    use http::Request;
    use http_body_util::BodyExt;
    use parking_lot::Mutex;
    use tower::ServiceExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    fn writer(lines: &Lines) -> impl Fn() -> Lines + Send + Sync + 'static {
        let lines = lines.clone();
        move || lines.clone()
    }

    async fn ask(level: &LogLevel, method: &str, body: &str) -> (u16, String) {
        ask_from([127, 0, 0, 1], level, method, body).await
    }

    async fn ask_from(peer: [u8; 4], level: &LogLevel, method: &str, body: &str) -> (u16, String) {
        let peer = ConnectInfo(SocketAddr::from((peer, 1)));
        let request = Request::builder().method(method).uri("/log-level").extension(peer);
        let response = level.router().oneshot(request.body(body.to_owned()).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn the_level_changes_while_the_process_runs() {
        let lines = Lines::default();
        let (subscriber, level) = subscriber(LogFormat::Text, "info", writer(&lines)).unwrap();
        let _guard = tracing::subscriber::set_default(subscriber);
        tracing::debug!("too quiet");
        assert_eq!(ask(&level, "PUT", "debug\n").await, (200, "debug\n".to_owned()));
        tracing::debug!("heard");
        assert_eq!(ask(&level, "GET", "").await, (200, "debug\n".to_owned()));
        assert_eq!(ask(&level, "PUT", "error").await.0, 200);
        tracing::info!("again too quiet");
        let text = lines.text();
        assert!(text.contains(" heard") && !text.contains("too quiet"), "{text}");
    }

    #[tokio::test]
    async fn only_the_loopback_changes_the_level() {
        let (subscriber, level) = subscriber(LogFormat::Text, "info", io::sink).unwrap();
        let _guard = tracing::subscriber::set_default(subscriber);
        assert_eq!(ask_from([10, 0, 0, 7], &level, "PUT", "off").await.0, 403);
        assert_eq!(ask_from([10, 0, 0, 7], &level, "GET", "").await, (200, "info\n".to_owned()));
    }

    #[tokio::test]
    async fn a_wrong_level_is_refused_and_changes_nothing() {
        let (subscriber, level) = subscriber(LogFormat::Text, "warn", io::sink).unwrap();
        let _guard = tracing::subscriber::set_default(subscriber);
        for wrong in ["verbose", "", "maar=loud", "a=b=c"] {
            let (status, body) = ask(&level, "PUT", wrong).await;
            assert_eq!(status, 400, "{wrong}");
            assert!(body.contains("write error, warn, info"), "{body}");
        }
        assert_eq!(ask(&level, "PUT", &"x".repeat(5000)).await.0, 413);
        assert_eq!(level.get().unwrap(), "warn");
        level.set("info,maar_controller=debug").unwrap();
    }

    #[test]
    fn json_lines_carry_dotted_fields() {
        let lines = Lines::default();
        let (subscriber, _level) = subscriber(LogFormat::Json, "info", writer(&lines)).unwrap();
        tracing::subscriber::with_default(subscriber, || tracing::info!(job.name = "train-7", "admitted"));
        let line: serde_json::Value = serde_json::from_str(lines.text().trim()).unwrap();
        assert_eq!((&line["message"], &line["job.name"]), (&"admitted".into(), &"train-7".into()));
        assert_eq!(line["level"], "INFO");
    }
}
