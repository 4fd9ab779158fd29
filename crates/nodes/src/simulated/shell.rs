//! The few commands a simulated container understands. It never pretends to run anything else.
//!
//! [`Shell::run`] is one command of an exec; [`Shell::line`] is one line typed into `sh`. Both are pure.

mod words;

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use crate::pod::sleep::{self, Sleep};

pub(crate) use words::split;

/// What a command can find out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shell {
    pub(crate) hostname: String,
    pub(crate) variables: Vec<(String, String)>,
    /// Path to content.
    pub(crate) files: BTreeMap<String, String>,
    /// What the vendor's tool prints, by the name of the tool.
    pub(crate) tools: BTreeMap<&'static str, String>,
}

/// What a command did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: u8,
    /// What remains to be done by whoever has streams and a clock.
    pub(crate) then: Then,
}

/// Things that take time or input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Then {
    #[default]
    Nothing,
    /// Copy the input to the output.
    Copy,
    /// Read lines and run each.
    Interact,
    Sleep(Duration),
    /// Leave the shell.
    Exit,
}

impl Outcome {
    fn print(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), ..Self::default() }
    }

    fn fail(code: u8, stderr: impl Into<String>) -> Self {
        Self { code, stderr: stderr.into(), ..Self::default() }
    }

    fn then(then: Then) -> Self {
        Self { then, ..Self::default() }
    }
}

const HELP: &str =
    "cat, date, echo, env, exit, false, hostname, id, ls, printenv, pwd, sh, sleep, true, uname, whoami";

impl Shell {
    /// One command with its arguments.
    pub(crate) fn run(&self, command: &[String]) -> Outcome {
        let Some((name, arguments)) = command.split_first() else { return Outcome::default() };
        let base = name.rsplit('/').next().unwrap_or(name);
        match base {
            "echo" => echo(arguments),
            "cat" => self.cat(arguments),
            "env" => Outcome::print(self.environment()),
            "printenv" => self.printenv(arguments),
            "hostname" => Outcome::print(format!("{}\n", self.hostname)),
            "ls" => self.list(arguments),
            "pwd" => Outcome::print("/\n"),
            "whoami" => Outcome::print("root\n"),
            "id" => Outcome::print("uid=0(root) gid=0(root) groups=0(root)\n"),
            "uname" => Outcome::print("Linux\n"),
            "true" | ":" => Outcome::default(),
            "false" => Outcome::fail(1, ""),
            "sleep" => rest(arguments),
            "exit" => exit(arguments),
            "sh" | "bash" | "ash" => self.shell(arguments),
            tool if self.tools.contains_key(tool) => Outcome::print(self.tools[tool].clone()),
            _ => {
                let tools = self.tools.keys().fold(String::new(), |list, tool| list + ", " + tool);
                Outcome::fail(
                    127,
                    format!("{name}: not found: a simulated container has only {HELP}{tools}\n"),
                )
            }
        }
    }

    /// One line typed into a shell: commands with `;`, `&&` or `||` between them.
    pub(crate) fn line(&self, line: &str) -> Outcome {
        let mut total = Outcome::default();
        for (condition, words) in split(line) {
            let wanted = match condition {
                words::Condition::Always => true,
                words::Condition::OnSuccess => total.code == 0,
                words::Condition::OnFailure => total.code != 0,
            };
            if !wanted {
                continue;
            }
            let words: Vec<String> = words.iter().map(|word| self.substitute(word)).collect();
            let outcome = self.run(&words);
            total.stdout.push_str(&outcome.stdout);
            total.stderr.push_str(&outcome.stderr);
            total.code = outcome.code;
            total.then = outcome.then;
            if total.then != Then::Nothing {
                break;
            }
        }
        total
    }

    /// `$NAME` and `${NAME}`; unknown names are empty, as in a shell.
    fn substitute(&self, word: &words::Word) -> String {
        let words::Word::Open(text) = word else { return word.text().to_owned() };
        let mut result = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('$') {
            result.push_str(before);
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let plain = after
                .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                .unwrap_or(after.len());
            let (name, remainder) = braced.unwrap_or_else(|| after.split_at(plain));
            let value = self.variables.iter().find(|(known, _)| known == name);
            match value {
                Some((_, value)) => result.push_str(value),
                None if name.is_empty() => result.push('$'),
                None => {}
            }
            rest = remainder;
        }
        result + rest
    }

    /// What the SSH gateway and the portal have a shell do is more than this one understands; what it comes to is not. The
    /// line that they look for before that says nothing here.
    fn by_gateway(&self, arguments: &[String]) -> Option<Outcome> {
        let [flag, script, name, rest @ ..] = arguments else { return None };
        let [command, ..] = rest else { return None };
        if flag != "-c" || name != "maar" {
            return None;
        }
        let mut outcome = if script.ends_with("exec \"$@\"") {
            self.run(rest)
        } else if !script.contains("exec \"$SHELL\"") {
            return None;
        } else if command.is_empty() {
            Outcome::then(Then::Interact)
        } else {
            self.shell(&["-c".to_owned(), command.clone()])
        };
        outcome.stdout.insert_str(0, "+\n");
        Some(outcome)
    }

    fn shell(&self, arguments: &[String]) -> Outcome {
        if let Some(outcome) = self.by_gateway(arguments) {
            return outcome;
        }
        match arguments.iter().position(|argument| argument == "-c") {
            Some(position) => match arguments.get(position + 1) {
                Some(line) => match self.line(line) {
                    outcome if outcome.then == Then::Exit => Outcome { then: Then::Nothing, ..outcome },
                    outcome => outcome,
                },
                None => Outcome::fail(2, "sh: -c requires an argument\n"),
            },
            None => Outcome::then(Then::Interact),
        }
    }

    fn environment(&self) -> String {
        self.variables.iter().fold(String::new(), |text, (name, value)| text + name + "=" + value + "\n")
    }

    fn printenv(&self, arguments: &[String]) -> Outcome {
        let Some(name) = arguments.first() else { return Outcome::print(self.environment()) };
        match self.variables.iter().find(|(known, _)| known == name) {
            Some((_, value)) => Outcome::print(format!("{value}\n")),
            None => Outcome::fail(1, ""),
        }
    }

    fn cat(&self, arguments: &[String]) -> Outcome {
        if arguments.is_empty() || arguments == ["-"] {
            return Outcome::then(Then::Copy);
        }
        let mut outcome = Outcome::default();
        for path in arguments {
            if let Some(content) = self.files.get(path) {
                outcome.stdout.push_str(content);
            } else {
                outcome.code = 1;
                // Writing to a string cannot fail.
                let _ = writeln!(outcome.stderr, "cat: {path}: No such file or directory");
            }
        }
        outcome
    }

    fn list(&self, arguments: &[String]) -> Outcome {
        let path = arguments.iter().find(|argument| !argument.starts_with('-')).map_or("/", String::as_str);
        if self.files.contains_key(path) {
            return Outcome::print(format!("{path}\n"));
        }
        let folder = format!("{}/", path.trim_end_matches('/'));
        let mut names: Vec<&str> = self
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(&folder))
            .filter_map(|rest| rest.split('/').next())
            .collect();
        names.dedup();
        if names.is_empty() {
            return Outcome::fail(2, format!("ls: cannot access '{path}': No such file or directory\n"));
        }
        Outcome::print(names.join("\n") + "\n")
    }
}

fn echo(arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((first, rest)) if first == "-n" => Outcome::print(rest.join(" ")),
        _ => Outcome::print(format!("{}\n", arguments.join(" "))),
    }
}

fn rest(arguments: &[String]) -> Outcome {
    match sleep::total(arguments) {
        Some(Sleep::For(time)) => Outcome::then(Then::Sleep(time)),
        Some(Sleep::Forever) => Outcome::then(Then::Sleep(Duration::MAX)),
        None if arguments.is_empty() => Outcome::fail(1, "sleep: missing operand\n"),
        None => Outcome::fail(1, format!("sleep: invalid time interval '{}'\n", arguments.join(" "))),
    }
}

fn exit(arguments: &[String]) -> Outcome {
    let code = arguments.first().map_or(Ok(0), |text| text.parse::<u8>());
    match code {
        Ok(code) => Outcome { code, ..Outcome::then(Then::Exit) },
        Err(_) => Outcome { then: Then::Exit, ..Outcome::fail(2, "exit: numeric argument required\n") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Shell {
        Shell {
            hostname: "p".into(),
            variables: vec![("A".into(), "1".into()), ("HOME".into(), "/root".into())],
            files: BTreeMap::from([("/etc/hostname".into(), "p\n".into()), ("/etc/x/y".into(), "z".into())]),
            tools: BTreeMap::from([("nvidia-smi", "a table\n".into())]),
        }
    }

    #[test]
    fn lines_are_answered_as_a_shell_would() {
        let rows = [
            ("echo hello world", "hello world\n", 0),
            ("echo \"a  b\" 'c $A' $A ${A}x", "a  b c $A 1 1x\n", 0),
            ("echo -n x; echo y", "xy\n", 0),
            ("false && echo no; true && echo yes", "yes\n", 0),
            ("false || echo rescued", "rescued\n", 0),
            ("hostname", "p\n", 0),
            ("cat /etc/hostname /etc/x/y", "p\nz", 0),
            ("cat /nothing", "", 1),
            ("ls /etc", "hostname\nx\n", 0),
            ("ls /nothing", "", 2),
            ("env", "A=1\nHOME=/root\n", 0),
            ("printenv A", "1\n", 0),
            ("/usr/bin/nvidia-smi", "a table\n", 0),
            ("sh -c 'exit 7'", "", 7),
            ("sh -c 'echo a; false'", "a\n", 1),
            ("python train.py", "", 127),
            ("", "", 0),
        ];
        for (line, stdout, code) in rows {
            let outcome = shell().line(line);
            assert_eq!((outcome.stdout.as_str(), outcome.code), (stdout, code), "{line}");
        }
        assert!(shell().line("python").stderr.contains("simulated"));
    }

    /// As gateway/src/ssh/command.rs and gateway/src/hangup.rs have it.
    #[test]
    fn what_comes_by_the_gateway_is_run_without_what_stands_around_it() {
        let run = |script: &str, command: &str| {
            let words = ["/bin/sh", "-c", script, "maar", command, "24", "80"];
            shell().run(&words.map(str::to_owned))
        };
        let outcome = run("command=$1; shift 3\nexec \"$SHELL\" -c \"$command\"", "hostname; exit 3");
        assert_eq!((outcome.stdout.as_str(), outcome.code, outcome.then), ("+\np\n", 3, Then::Nothing));
        for (script, command) in
            [("cd \"$HOME\"\nexec \"$SHELL\" -l", ""), ("echo +\nexec \"$@\"", "/bin/sh")]
        {
            let outcome = run(script, command);
            assert_eq!((outcome.stdout.as_str(), outcome.then), ("+\n", Then::Interact), "{script}");
        }
    }

    #[test]
    fn what_takes_time_or_input_is_left_to_the_caller() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(shell().run(&words("sleep 2")).then, Then::Sleep(Duration::from_secs(2)));
        assert_eq!(shell().run(&words("sleep 1h 1m")).then, Then::Sleep(Duration::from_mins(61)));
        assert_eq!(shell().run(&words("sleep infinity")).then, Then::Sleep(Duration::MAX));
        assert_eq!(shell().run(&words("sleep soon")).code, 1);
        assert_eq!(shell().run(&words("cat")).then, Then::Copy);
        assert_eq!(shell().run(&words("/bin/bash")).then, Then::Interact);
        let exit = shell().line("echo bye; exit 3; echo never");
        assert_eq!((exit.stdout.as_str(), exit.code, exit.then), ("bye\n", 3, Then::Exit));
    }
}
