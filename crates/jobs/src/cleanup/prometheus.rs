//! Card use from Prometheus.
//!
//! Two questions for each window: the highest value of each card, and whether there were samples all the time. A card
//! whose exporter was away for a part of the window may have been busy then.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use kube::{Client, Config};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use super::card_use::{CardUse, EXPORTERS, Readings, UseError, subject};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// A gap without samples that goes unnoticed is shorter than two steps.
const LONGEST_STEP: i64 = 300;
const SHORTEST_STEP: i64 = 60;

/// A Prometheus server, or what speaks like one.
#[derive(Clone)]
pub struct Prometheus {
    /// A Kubernetes client is also a client for any other server: with TLS and a base path.
    client: Client,
    url: String,
}

impl std::fmt::Debug for Prometheus {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prometheus").field("url", &self.url).finish_non_exhaustive()
    }
}

/// An address that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrometheusError {
    /// It is no address.
    #[error("{0:?} is not the address of a Prometheus server, such as http://prometheus:9090")]
    Address(String),
    /// There can be no client for it.
    #[error("preparing to talk to Prometheus")]
    Client(#[source] kube::Error),
}

impl Prometheus {
    /// The server at `url`, such as `http://prometheus.monitoring:9090`.
    pub fn new(url: &str) -> Result<Self, PrometheusError> {
        let address: http::Uri = url.parse().map_err(|_| PrometheusError::Address(url.to_owned()))?;
        if !matches!(address.scheme_str(), Some("http" | "https")) {
            return Err(PrometheusError::Address(url.to_owned()));
        }
        let mut config = Config::new(address);
        config.read_timeout = Some(PATIENCE);
        // A failed question is asked again in the next round anyway.
        config.default_retry = false;
        let client = Client::try_from(config).map_err(PrometheusError::Client)?;
        Ok(Self { client, url: url.to_owned() })
    }

    /// What `query` says at the unix time `second`.
    pub async fn query(&self, query: &str, second: i64) -> Result<Vec<Series>, UseError> {
        let fields = [("query", query), ("time", &second.to_string())];
        let found: Vec<Sample> = self.ask("/api/v1/query", &fields, "vector").await?;
        found.into_iter().map(|one| one.try_into().map_err(|problem: String| self.failed(&problem))).collect()
    }

    /// What `query` says every `step` seconds from unix time `begin` to `end`.
    pub async fn range(
        &self,
        query: &str,
        (begin, end): (i64, i64),
        step: i64,
    ) -> Result<Vec<Points>, UseError> {
        let times = [begin, end, step].map(|number| number.to_string());
        let fields = [("query", query), ("start", &times[0]), ("end", &times[1]), ("step", &times[2])];
        let found: Vec<Samples> = self.ask("/api/v1/query_range", &fields, "matrix").await?;
        found.into_iter().map(|one| one.try_into().map_err(|problem: String| self.failed(&problem))).collect()
    }

    fn failed(&self, problem: &str) -> UseError {
        UseError(format!("{}: {problem}", self.url))
    }

    async fn ask<S: DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        wanted: &str,
    ) -> Result<Vec<S>, UseError> {
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form(fields).into_bytes())
            .map_err(|error| self.failed(&error.to_string()))?;
        let answer = timeout(PATIENCE, self.client.request::<Answer<S>>(request)).await;
        let answer = answer.map_err(|_| self.failed("no answer"))?;
        let answer = answer.map_err(|error| self.failed(&maar_controller::error::chain(&error)))?;
        match answer {
            Answer { status, data: Some(data), .. } if status == "success" && data.result_type == wanted => {
                Ok(data.result)
            }
            Answer { error, .. } => Err(self.failed(error.as_deref().unwrap_or("it answered without data"))),
        }
    }
}

impl CardUse for Prometheus {
    fn highest(&self, now: Timestamp, window: SignedDuration) -> BoxFuture<'_, Result<Readings, UseError>> {
        Box::pin(async move {
            let questions = Questions::of(window);
            let now = questions.moment(now);
            let highest = self.query(&questions.highest, now).await?;
            let covered = self.query(&questions.covered, now).await?;
            Ok(readings(&highest, &covered, questions.steps))
        })
    }
}

/// What is asked for one window.
struct Questions {
    highest: String,
    /// In how many steps of the window there was a sample.
    covered: String,
    /// How many steps the window has.
    steps: f64,
    /// Seconds of a step.
    step: i64,
}

impl Questions {
    fn of(window: SignedDuration) -> Self {
        let seconds = window.as_secs().max(SHORTEST_STEP);
        let step = (seconds / 10).clamp(SHORTEST_STEP, LONGEST_STEP);
        let seconds = (seconds + step - 1) / step * step;
        let names: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.metric).collect();
        let cards = format!("{{__name__=~\"{}\"}}", names.join("|"));
        #[expect(clippy::cast_precision_loss, reason = "a number of minutes")]
        let steps = (seconds / step) as f64;
        Self {
            highest: format!("max_over_time({cards}[{seconds}s])"),
            covered: format!("count_over_time(count_over_time({cards}[{step}s])[{seconds}s:{step}s])"),
            steps,
            step,
        }
    }

    /// When to ask. Steps are at multiples of their length, and whether both ends of a window belong to it depends on the
    /// server: at a moment between two steps the window has the same number everywhere.
    fn moment(&self, now: Timestamp) -> i64 {
        let second = now.as_second();
        if second % self.step == 0 { second - 1 } else { second }
    }
}

fn readings(highest: &[Series], covered: &[Series], steps: f64) -> Readings {
    let known: BTreeMap<_, f64> =
        covered.iter().filter_map(|series| Some((series.subject()?, series.value))).collect();
    let mut cards: BTreeMap<(String, String, String), Option<f64>> = BTreeMap::new();
    for series in highest {
        let Some(about) = series.subject() else { continue };
        let whole = known.get(&about).is_some_and(|count| *count >= steps) && series.value.is_finite();
        let now = whole.then_some(series.value);
        // Several series of one card: the busiest counts, and what is not known stays so.
        cards
            .entry(about)
            .and_modify(|old| *old = old.zip(now).map(|(old, now)| old.max(now)))
            .or_insert(now);
    }
    let mut all = Readings::new();
    for ((namespace, pod, _), use_) in cards {
        all.entry((namespace, pod)).or_default().push(use_);
    }
    all
}

/// One series at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What it was then.
    pub value: f64,
}

/// One series over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Unix times and what it was then.
    pub points: Vec<(i64, f64)>,
}

impl Series {
    fn subject(&self) -> Option<(String, String, String)> {
        subject(|name| self.labels.get(name).map(String::as_str))
    }
}

impl TryFrom<Sample> for Series {
    type Error = String;

    fn try_from(sample: Sample) -> Result<Self, String> {
        Ok(Self { labels: sample.metric, value: number(&sample.value.1)? })
    }
}

impl TryFrom<Samples> for Points {
    type Error = String;

    fn try_from(samples: Samples) -> Result<Self, String> {
        #[expect(clippy::cast_possible_truncation, reason = "unix seconds of our own asking")]
        let point = |(time, value): &(f64, Value)| Ok((*time as i64, number(value)?));
        let points = samples.values.iter().map(point).collect::<Result<_, String>>()?;
        Ok(Self { labels: samples.metric, points })
    }
}

fn number(value: &Value) -> Result<f64, String> {
    let text = value.as_str().unwrap_or_default();
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// What Prometheus answers.
#[derive(Debug, Deserialize)]
struct Answer<S> {
    status: String,
    data: Option<Data<S>>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<S> {
    result_type: String,
    result: Vec<S>,
}

#[derive(Debug, Deserialize)]
struct Sample {
    metric: BTreeMap<String, String>,
    /// Time and value; the value is text.
    value: (Value, Value),
}

#[derive(Debug, Deserialize)]
struct Samples {
    metric: BTreeMap<String, String>,
    /// The same of each moment.
    values: Vec<(f64, Value)>,
}

/// A form as browsers send it. Names are plain words.
fn form(fields: &[(&str, &str)]) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", value.bytes().map(escaped).collect::<String>()))
        .collect();
    fields.join("&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn series(pod: &str, card: &str, value: f64) -> Series {
        let labels = [("namespace", "lab"), ("pod", pod), ("UUID", card)];
        let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Series { labels, value }
    }

    #[test]
    fn what_is_not_covered_is_not_known() {
        let highest = [series("a", "0", 3.0), series("a", "1", 0.0), series("b", "0", 7.0)];
        let covered = [series("a", "0", 12.0), series("a", "1", 11.0)];
        let read = readings(&highest, &covered, 12.0);
        let key = |pod: &str| ("lab".to_owned(), pod.to_owned());
        assert_eq!(read[&key("a")], [Some(3.0), None]);
        assert_eq!(read[&key("b")], [None]);
    }

    #[test]
    fn labels_that_the_scraper_moved_away_are_found() {
        let labels = json!({ "pod": "dcgm-exporter-x", "namespace": "gpu-operator", "UUID": "GPU-1",
            "exported_pod": "train-0", "exported_namespace": "lab" });
        let series = Series { labels: serde_json::from_value(labels).unwrap(), value: 1.0 };
        assert_eq!(series.subject(), Some(("lab".to_owned(), "train-0".to_owned(), "GPU-1".to_owned())));
    }

    #[test]
    fn questions_ask_in_steps_that_fit_the_window() {
        let questions = Questions::of(SignedDuration::from_mins(90));
        insta::assert_snapshot!(format!("{}\n{}\n{}", questions.highest, questions.covered, questions.steps));
        assert_eq!(form(&[("query", "a{b=~\"c\"}")]), "query=a%7Bb%3D~%22c%22%7D".replace('~', "%7E"));
    }

    #[test]
    fn addresses_that_are_none_are_refused() {
        for wrong in ["", "prometheus", "ftp://x"] {
            assert!(matches!(Prometheus::new(wrong), Err(PrometheusError::Address(_))), "{wrong}");
        }
    }
}
