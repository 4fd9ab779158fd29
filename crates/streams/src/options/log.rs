//! `PodLogOptions`.

use jiff::Timestamp;

use super::OptionsError;
use super::query::{Query, QueryWriter};

/// Which output of a container a log request wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogStream {
    /// Both, in the order they were written.
    #[default]
    All,
    /// Standard output only.
    Stdout,
    /// Standard error only.
    Stderr,
}

/// Which lines of which container's log, and in what form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the switches of the Kubernetes API")]
pub struct LogOptions {
    /// The container; `None` where the Pod has only one.
    pub container: Option<String>,
    /// Keep sending as lines are written.
    pub follow: bool,
    /// The log of the container's previous run.
    pub previous: bool,
    /// Begin each line with its time.
    pub timestamps: bool,
    /// Only lines of the last so many seconds; at least 1.
    pub since_seconds: Option<u64>,
    /// Only lines from this time on.
    pub since_time: Option<Timestamp>,
    /// Only the last so many lines.
    pub tail_lines: Option<u64>,
    /// Stop after so many bytes; at least 1.
    pub limit_bytes: Option<u64>,
    /// Which output.
    pub stream: LogStream,
    /// Do not check the kubelet's certificate.
    pub insecure_skip_tls_verify_backend: bool,
}

impl LogOptions {
    /// Reads `…/pods/{name}/log?…` and a kubelet's `/containerLogs/…?…`, which use the same names.
    pub fn from_query(query: Option<&str>) -> Result<Self, OptionsError> {
        let query = Query::parse(query);
        let options = Self {
            container: query.text("container"),
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            since_seconds: query.parsed("sinceSeconds", "must be a whole number greater than 0")?,
            since_time: query.parsed("sinceTime", "must be a time in RFC 3339 form")?,
            tail_lines: query.parsed("tailLines", "must be a whole number, 0 or more")?,
            limit_bytes: query.parsed("limitBytes", "must be a whole number greater than 0")?,
            stream: stream(&query)?,
            insecure_skip_tls_verify_backend: query.flag("insecureSkipTLSVerifyBackend"),
        };
        options.checked()
    }

    fn checked(self) -> Result<Self, OptionsError> {
        let zero =
            |name| OptionsError::Invalid { name, value: "0".to_owned(), problem: "must be greater than 0" };
        if self.since_seconds.is_some() && self.since_time.is_some() {
            return Err(OptionsError::Conflict(
                "at most one of `sinceTime` or `sinceSeconds` may be specified",
            ));
        }
        if self.stream != LogStream::All && self.tail_lines.is_some() {
            return Err(OptionsError::Conflict(
                "`tailLines` and specific `stream` are mutually exclusive for now",
            ));
        }
        match (self.since_seconds, self.limit_bytes) {
            (Some(0), _) => Err(zero("sinceSeconds")),
            (_, Some(0)) => Err(zero("limitBytes")),
            _ => Ok(self),
        }
    }

    /// The query an API server sends to a kubelet; the container is part of the path there.
    pub fn to_kubelet_query(&self) -> String {
        let stream = match self.stream {
            LogStream::All => None,
            LogStream::Stdout => Some("Stdout"),
            LogStream::Stderr => Some("Stderr"),
        };
        QueryWriter::new()
            .flag("follow", self.follow, "true")
            .flag("previous", self.previous, "true")
            .flag("timestamps", self.timestamps, "true")
            .shown("sinceSeconds", self.since_seconds)
            .shown("sinceTime", self.since_time)
            .shown("tailLines", self.tail_lines)
            .shown("limitBytes", self.limit_bytes)
            .text("stream", stream)
            .finish()
    }
}

fn stream(query: &Query<'_>) -> Result<LogStream, OptionsError> {
    match query.first("stream").unwrap_or_default() {
        "" | "All" => Ok(LogStream::All),
        "Stdout" => Ok(LogStream::Stdout),
        "Stderr" => Ok(LogStream::Stderr),
        other => Err(OptionsError::Invalid {
            name: "stream",
            value: other.to_owned(),
            problem: "must be one of \"All\", \"Stdout\", \"Stderr\"",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectls_query_is_read_and_passed_on() {
        let query = "container=main&follow=true&tailLines=10&timestamps=true&sinceTime=2026-01-02T03%3A04%3A05%2B01%3A00";
        let options = LogOptions::from_query(Some(query)).unwrap();
        assert_eq!(options.since_time, Some("2026-01-02T02:04:05Z".parse().unwrap()));
        assert_eq!((options.follow, options.previous, options.tail_lines), (true, false, Some(10)));
        let passed_on = options.to_kubelet_query();
        assert_eq!(passed_on, "follow=true&timestamps=true&sinceTime=2026-01-02T02%3A04%3A05Z&tailLines=10");
        let again = LogOptions::from_query(Some(&passed_on)).unwrap();
        assert_eq!(LogOptions { container: Some("main".into()), ..again }, options);
    }

    #[test]
    fn nothing_asked_is_the_whole_log() {
        assert_eq!(LogOptions::from_query(None).unwrap(), LogOptions::default());
        assert_eq!(LogOptions::default().to_kubelet_query(), "");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let cases = [
            ("tailLines=-1", "tailLines"),
            ("tailLines=ten", "tailLines"),
            ("limitBytes=0", "limitBytes"),
            ("sinceSeconds=0", "sinceSeconds"),
            ("sinceTime=yesterday", "sinceTime"),
            ("sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z", "at most one of"),
            ("stream=stdout", "stream"),
            ("stream=Stdout&tailLines=1", "mutually exclusive"),
        ];
        for (query, want) in cases {
            let error = LogOptions::from_query(Some(query)).unwrap_err().to_string();
            assert!(error.contains(want), "{query}: {error}");
        }
    }
}
