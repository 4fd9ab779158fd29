//! What is said beside the bytes of a terminal, as JSON in text frames. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde::{Deserialize, Serialize};

/// The subprotocol.
pub(super) const PROTOCOL: &str = "maar.terminal.v1";
/// The largest screen, each way.
const LARGEST: u16 = 2000;
/// The longest text frame of a client.
const LONGEST: usize = 1024;

/// How large a screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

impl Size {
    /// The size, if a screen can have it.
    pub(crate) fn checked(self) -> Option<Self> {
        let fits = |length| (1..=LARGEST).contains(&length);
        (fits(self.columns) && fits(self.rows)).then_some(self)
    }
}

/// What a client says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Said {
    Resize(Size),
}

/// The size that a client tells.
pub(super) fn read(text: &str) -> Result<Size, String> {
    if text.len() > LONGEST {
        return Err(format!("a message has at most {LONGEST} bytes"));
    }
    let Said::Resize(size) =
        serde_json::from_str(text).map_err(|error| format!("not understood: {error}"))?;
    size.checked().ok_or_else(|| format!("columns and rows are between 1 and {LARGEST}"))
}

/// What the portal says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Says<'a> {
    /// First: where it is.
    Ready { pod: &'a str, container: &'a str },
    /// Last: how the program ended, or why the portal ended it.
    End { code: Option<i32>, message: &'a str },
}

impl Says<'_> {
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("words and numbers are always JSON")
    }
}

/// How a program ended: its code if it has one, and what there is to say.
pub(crate) fn ended(status: Option<&Status>) -> (Option<i32>, String) {
    let Some(status) = status else { return (None, "the connection to the Pod was lost".to_owned()) };
    if status.status.as_deref() == Some("Success") {
        return (Some(0), "the program has ended".to_owned());
    }
    let causes = status.details.iter().flat_map(|details| details.causes.iter().flatten());
    let code = causes
        .filter(|cause| cause.reason.as_deref() == Some("ExitCode"))
        .find_map(|cause| cause.message.as_ref()?.parse().ok());
    match code {
        Some(code) => (Some(code), format!("the program has ended with code {code}")),
        None => (None, status.message.clone().unwrap_or_else(|| "the program could not be run".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_read_and_nothing_else_is() {
        let read = |text: &str| read(text).ok().map(|size| (size.columns, size.rows));
        assert_eq!(read(r#"{"resize":{"columns":80,"rows":24}}"#), Some((80, 24)));
        for wrong in [
            "",
            "resize",
            r#"{"resize":{"columns":0,"rows":24}}"#,
            r#"{"resize":{"columns":80}}"#,
            r#"{"resize":{"columns":80,"rows":2001}}"#,
            r#"{"resize":{"columns":80,"rows":24,"command":"reboot"}}"#,
            r#"{"exec":["reboot"]}"#,
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(&format!(r#"{{"resize":{{"columns":80,"rows":24{}}}}}"#, " ".repeat(2000))), None);
    }

    #[test]
    fn ends_are_told_with_their_codes() {
        let of = |status: serde_json::Value| ended(Some(&serde_json::from_value(status).unwrap()));
        assert_eq!(of(json!({ "status": "Success" })).0, Some(0));
        let failed = json!({ "status": "Failure", "reason": "NonZeroExitCode",
            "details": { "causes": [{ "reason": "ExitCode", "message": "7" }] } });
        assert_eq!(of(failed), (Some(7), "the program has ended with code 7".to_owned()));
        let missing = json!({ "status": "Failure", "message": "no such file: /bin/sh" });
        assert_eq!(of(missing), (None, "no such file: /bin/sh".to_owned()));
        assert_eq!(ended(None).0, None);
        let end = Says::End { code: None, message: "x" };
        assert_eq!(end.text(), r#"{"end":{"code":null,"message":"x"}}"#);
    }
}
