//! Running other programs: what they say, within a time.

use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// No single command takes this long unless it hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a program said before it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) success: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            success: output.status.success(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a program to its end, with this input.
pub(crate) async fn run(mut command: Command, input: &str) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let shown = format!("{:?}", command.as_std());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A program that does not read to the end is not wrong.
    tokio::spawn(async move {
        let _ = stdin.write_all(input.as_bytes()).await;
    });
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    output.unwrap_or_else(|_| panic!("{shown} did not end within {PATIENCE:?}")).unwrap().into()
}

/// Splits a command line as a shell does: at blanks, except between quotes.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quote = None;
    let mut inside = false;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
            }
            (None, _) if letter.is_whitespace() => inside = false,
            _ => {
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
                words.last_mut().unwrap().push(letter);
            }
        }
    }
    words
}

#[test]
fn lines_are_split_as_a_shell_does() {
    assert_eq!(
        words("get pods -o 'jsonpath={.items[*]} x'"),
        ["get", "pods", "-o", "jsonpath={.items[*]} x"]
    );
    assert_eq!(words("a='b c'd \"\" "), ["a=b cd", ""]);
}
