//! `PodExecOptions` and `PodAttachOptions`.

use super::OptionsError;
use super::query::{Query, QueryWriter};

/// Which of the standard streams a session has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the four switches of the Kubernetes API")]
pub struct StreamSet {
    /// The client sends standard input.
    pub stdin: bool,
    /// The client wants standard output.
    pub stdout: bool,
    /// The client wants standard error; never together with `tty`, where it is part of the output.
    pub stderr: bool,
    /// The command gets a terminal.
    pub tty: bool,
}

impl StreamSet {
    fn checked(mut self) -> Result<Self, OptionsError> {
        if !self.stdin && !self.stdout && !self.stderr {
            return Err(OptionsError::NoStreams);
        }
        // A terminal has one output. Kubernetes drops the request for the second without a word.
        self.stderr &= !self.tty;
        Ok(self)
    }

    fn from_api(query: &Query<'_>) -> Result<Self, OptionsError> {
        let [stdin, stdout, stderr, tty] = ["stdin", "stdout", "stderr", "tty"].map(|name| query.flag(name));
        Self { stdin, stdout, stderr, tty }.checked()
    }

    fn from_kubelet(query: &Query<'_>) -> Result<Self, OptionsError> {
        let [stdin, stdout, stderr, tty] = ["input", "output", "error", "tty"].map(|name| query.one(name));
        Self { stdin, stdout, stderr, tty }.checked()
    }

    fn write(self, query: QueryWriter) -> QueryWriter {
        query
            .flag("input", self.stdin, "1")
            .flag("output", self.stdout, "1")
            .flag("error", self.stderr, "1")
            .flag("tty", self.tty, "1")
    }

    fn write_api(self, query: QueryWriter) -> QueryWriter {
        query
            .flag("stdin", self.stdin, "true")
            .flag("stdout", self.stdout, "true")
            .flag("stderr", self.stderr, "true")
            .flag("tty", self.tty, "true")
    }
}

/// What to run where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecOptions {
    /// The standard streams.
    pub streams: StreamSet,
    /// The container; `None` where the Pod has only one.
    pub container: Option<String>,
    /// The command and its arguments, not a shell line.
    pub command: Vec<String>,
}

impl ExecOptions {
    /// Reads `…/pods/{name}/exec?…` as a client of the API server sends it.
    pub fn from_api_query(query: Option<&str>) -> Result<Self, OptionsError> {
        let query = Query::parse(query);
        let streams = StreamSet::from_api(&query)?;
        Self { streams, container: query.text("container"), command: command(&query) }.checked()
    }

    /// Reads `/exec/{namespace}/{pod}/{container}?…` as an API server sends it to a kubelet.
    pub fn from_kubelet_query(query: Option<&str>) -> Result<Self, OptionsError> {
        let query = Query::parse(query);
        let streams = StreamSet::from_kubelet(&query)?;
        Self { streams, container: None, command: command(&query) }.checked()
    }

    /// The query an API server sends to a kubelet; the container is part of the path there.
    pub fn to_kubelet_query(&self) -> String {
        let query = self.streams.write(QueryWriter::new());
        self.command.iter().fold(query, |query, word| query.text("command", Some(word))).finish()
    }

    /// The query a client sends to the API server.
    pub fn to_api_query(&self) -> String {
        let query = self.streams.write_api(QueryWriter::new().text("container", self.container.as_deref()));
        self.command.iter().fold(query, |query, word| query.text("command", Some(word))).finish()
    }

    fn checked(self) -> Result<Self, OptionsError> {
        if self.command.is_empty() { Err(OptionsError::NoCommand) } else { Ok(self) }
    }
}

fn command(query: &Query<'_>) -> Vec<String> {
    query.all("command").map(str::to_owned).collect()
}

/// Which running container to attach to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttachOptions {
    /// The standard streams.
    pub streams: StreamSet,
    /// The container; `None` where the Pod has only one.
    pub container: Option<String>,
}

impl AttachOptions {
    /// Reads `…/pods/{name}/attach?…` as a client of the API server sends it.
    pub fn from_api_query(query: Option<&str>) -> Result<Self, OptionsError> {
        let query = Query::parse(query);
        Ok(Self { streams: StreamSet::from_api(&query)?, container: query.text("container") })
    }

    /// Reads `/attach/{namespace}/{pod}/{container}?…` as an API server sends it to a kubelet.
    pub fn from_kubelet_query(query: Option<&str>) -> Result<Self, OptionsError> {
        Ok(Self { streams: StreamSet::from_kubelet(&Query::parse(query))?, container: None })
    }

    /// The query an API server sends to a kubelet.
    pub fn to_kubelet_query(&self) -> String {
        self.streams.write(QueryWriter::new()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kubectls_query_is_read_and_passed_on() {
        let query = "command=sh&command=-c&command=echo+a%26b&container=main&stdin=true&stdout=true&stderr=false&tty=1";
        let options = ExecOptions::from_api_query(Some(query)).unwrap();
        assert_eq!(options.command, ["sh", "-c", "echo a&b"]);
        assert_eq!(options.container.as_deref(), Some("main"));
        assert_eq!(options.streams, StreamSet { stdin: true, stdout: true, stderr: false, tty: true });
        assert_eq!(
            options.to_kubelet_query(),
            "input=1&output=1&tty=1&command=sh&command=-c&command=echo+a%26b"
        );
    }

    #[test]
    fn flags_follow_kubernetes() {
        for (value, want) in
            [("", true), ("true", true), ("yes", true), ("0", false), ("False", false), ("1", true)]
        {
            let query = format!("stdout={value}&stderr=true");
            let options = AttachOptions::from_api_query(Some(&query)).unwrap();
            assert_eq!(options.streams.stdout, want, "stdout={value}");
        }
        assert_eq!(
            AttachOptions::from_kubelet_query(Some("input=true&output=1")).unwrap().streams,
            StreamSet { stdout: true, ..StreamSet::default() },
            "a kubelet takes nothing but 1"
        );
    }

    #[test]
    fn a_terminal_has_no_separate_error_output() {
        let options = AttachOptions::from_api_query(Some("stdout=1&stderr=1&tty=1")).unwrap();
        assert!(!options.streams.stderr);
        assert_eq!(options.to_kubelet_query(), "output=1&tty=1");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(ExecOptions::from_api_query(None), Err(OptionsError::NoStreams));
        assert_eq!(ExecOptions::from_api_query(Some("stdout=1")), Err(OptionsError::NoCommand));
        assert_eq!(AttachOptions::from_kubelet_query(Some("stdout=1")), Err(OptionsError::NoStreams));
    }

    proptest! {
        #[test]
        fn a_kubelet_reads_what_the_api_server_wrote(
            command in prop::collection::vec(".*", 1..5),
            stdin: bool, stderr: bool,
        ) {
            let streams = StreamSet { stdin, stdout: true, stderr, tty: false };
            let sent = ExecOptions { streams, container: None, command };
            prop_assert_eq!(&ExecOptions::from_kubelet_query(Some(&sent.to_kubelet_query())).unwrap(), &sent);
            prop_assert_eq!(ExecOptions::from_api_query(Some(&sent.to_api_query())).unwrap(), sent);
        }
    }
}
