//! How a process gets its variables: in a file that it finds open. Arguments of programs are for everybody on the machine to
//! read, and the environment of a program that makes or enters a sandbox acts outside of it.

use std::fmt::Write as _;

use crate::environment::Variables;

/// The descriptor of that file. Shells know only those of one digit.
pub(super) const DESCRIPTOR: u8 = 3;
/// Variables that shells keep for themselves: setting them is an error, or means something.
const OF_SHELLS: [&str; 9] =
    ["BASHOPTS", "BASHPID", "BASH_VERSINFO", "EUID", "LINENO", "OPTIND", "PPID", "SHELLOPTS", "UID"];

/// As further arguments of bubblewrap.
pub(super) fn arguments(variables: &Variables) -> String {
    variables.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = write!(text, "--setenv\0{name}\0{value}\0");
        text
    })
}

/// As a script for the shell that becomes the command in its own arguments. What a shell cannot set comes before those:
/// it can be seen for the moment in which `env` becomes the command.
pub(super) fn script(variables: &Variables) -> String {
    let (mut script, mut others) = (String::new(), String::new());
    for (name, value) in variables {
        let _ = if is_settable(name) {
            writeln!(script, "export {name}={}", quoted(value))
        } else {
            write!(others, " {}", quoted(&format!("{name}={value}")))
        };
    }
    if !others.is_empty() {
        let _ = writeln!(script, "set -- /usr/bin/env{others} \"$@\"");
    }
    script
}

fn is_settable(name: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let digit = name.starts_with(|letter: char| letter.is_ascii_digit());
    !name.is_empty() && !digit && name.chars().all(letters) && !OF_SHELLS.contains(&name)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_sets_every_variable_as_it_is() {
        let rows = [("A", "it's $HOME\n`x`"), ("B_1", ""), ("a.b", "odd 'name'"), ("UID", "7"), ("1C", "c")];
        let variables: Variables =
            rows.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        let line = format!("{}exec \"$@\"", script(&variables));
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &line, "sh", "/usr/bin/env", "--null"])
            .env_clear()
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let got: Vec<&str> = text.split('\0').collect();
        for (name, value) in rows {
            assert!(got.contains(&format!("{name}={value}").as_str()), "{name} in {got:?}");
        }
    }
}
