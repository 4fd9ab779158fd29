//! Ends programs whose client has left.
//!
//! No kubelet ends what an exec began when its stream ends, not even a shell with a terminal: what it writes goes nowhere, for
//! ever. So a program tells first what it writes to, in a line that the client does not see, and when its client has left before
//! it, one more exec tells all who still hold that. Pure.

/// What stands before what is told of a program before it begins.
pub const SIGN: u8 = b'+';

/// A line of a shell that tells what it, and the program it becomes, writes to.
pub(crate) const TELL: &str =
    "echo \"+$(readlink \"/proc/$$/fd/1\" 2>/dev/null) $(readlink \"/proc/$$/fd/2\" 2>/dev/null)\"\n";

/// A command that tells first.
pub fn told(command: &[String]) -> Vec<String> {
    let script = format!("{TELL}exec \"$@\"");
    let before = ["/bin/sh", "-c", &script, "maar"].map(str::to_owned);
    before.into_iter().chain(command.iter().cloned()).collect()
}

/// What a program writes to: a pipe each for what it says and for its errors, or a terminal for both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends(Vec<String>);

impl Ends {
    /// From what the program was made to tell, behind its sign. What others may hold as well, as `/dev/null`, is none.
    pub fn read(told: &str) -> Option<Self> {
        let own = |end: &&str| ["pipe:[", "socket:[", "/dev/pts/"].iter().any(|kind| end.starts_with(kind));
        let ends: Vec<String> = told.split_whitespace().filter(own).map(str::to_owned).collect();
        (!ends.is_empty()).then_some(Self(ends))
    }
}

/// Tells all who still hold one of these ends that nobody is there any more, as a terminal does that is closed. Who has
/// turned his output elsewhere, as servers do, is left alone.
pub fn hang_up(ends: &Ends) -> Vec<String> {
    let script = r#"for folder in /proc/[0-9]*; do
for end in 1 2 0; do
held=$(readlink "$folder/fd/$end") || continue
for wanted in "$@"; do
if [ "$held" = "$wanted" ]; then kill -s HUP "${folder#/proc/}"; kill -s CONT "${folder#/proc/}"; continue 3; fi
done
done
done 2>/dev/null"#;
    let words = ["/bin/sh", "-c", script, "maar"].into_iter().chain(ends.0.iter().map(String::as_str));
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_else_holds_is_hung_up() {
        let read = |told: &str| Ends::read(told).map(|ends| ends.0);
        assert_eq!(read("pipe:[1] pipe:[2]").unwrap(), ["pipe:[1]", "pipe:[2]"]);
        assert_eq!(read("/dev/pts/3 /dev/pts/3").unwrap(), ["/dev/pts/3", "/dev/pts/3"]);
        assert_eq!(read("pipe:[1] /dev/null").unwrap(), ["pipe:[1]"]);
        for nothing in ["", " ", "/dev/null /dev/null", "/tmp/log /tmp/log"] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }

    /// By a real shell: what writes to the client ends, and a server that has turned away from it, or does not listen, stays.
    #[test]
    fn who_still_writes_to_a_client_that_left_hears_of_it() {
        use std::{io::BufRead as _, process::Stdio};
        let line = "sleep 98765 </dev/null >/dev/null 2>&1 & echo $!; nohup sleep 98765 2>/dev/null & echo $!; \
                    sleep 98765 & echo $!; wait";
        let words = told(&["/bin/sh", "-c", line].map(str::to_owned));
        // Whoever runs the tests may have been told not to listen.
        let mut command = std::process::Command::new("env");
        command.arg("--default-signal=HUP").args(&words).stdin(Stdio::null());
        // Not what others here write to, who would hear of it as well.
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut said = std::io::BufReader::new(program.stdout.take().unwrap()).lines();
        let ends = Ends::read(&said.next().unwrap().unwrap()[1..]).unwrap();
        let begun: Vec<String> = said.by_ref().take(3).map(Result::unwrap).collect();
        let words = hang_up(&ends);
        assert!(std::process::Command::new(&words[0]).args(&words[1..]).status().unwrap().success());
        assert!(!program.wait().unwrap().success(), "the shell itself");
        let state = |number: &String| {
            let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
        };
        // The last has nobody who would take note of its end but the first process of the machine.
        let ended = || matches!(state(&begun[2]), None | Some('Z'));
        assert!(
            (0..200_000).any(|_| {
                std::thread::yield_now();
                ended()
            }),
            "{:?}",
            state(&begun[2])
        );
        for (number, what) in begun.iter().zip(["turned away", "does not listen"]) {
            assert!(matches!(state(number), Some('S')), "{what}: {:?}", state(number));
            let stopped = std::process::Command::new("kill").args(["-s", "KILL", number]).status();
            assert!(stopped.unwrap().success());
        }
    }
}
