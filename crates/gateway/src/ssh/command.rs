//! What runs in the Pod: command lines, and which variables a client may set. Pure.

/// The most variables that a client may set.
const MOST: usize = 64;
/// The longest value of one.
const LONGEST: usize = 4096;

/// Whether a client may set a variable: how things look, never what is run. A variable such as `LD_PRELOAD` would do
/// no harm that its owner could not do himself, but people copy settings of others.
pub(super) fn may_set(name: &str, value: &str, already: usize) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let known = ["LANG", "LANGUAGE", "COLORTERM", "NO_COLOR", "TZ", "GIT_PROTOCOL"].contains(&name);
    plain
        && (known || name.starts_with("LC_"))
        && value.len() <= LONGEST
        && !value.contains(['\0', '\n'])
        && already < MOST
}

/// What a terminal calls itself, if that is a name.
pub(super) fn term(name: &str) -> Option<&str> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-+._".contains(character);
    (!name.is_empty() && name.len() <= 64 && name.chars().all(plain)).then_some(name)
}

/// Sets the variables after the first two words, finds the user's shell and goes home, as sshd does.
const BEFORE: &str = r#"command=$1; shift
for variable in "$@"; do export "$variable"; done
if [ ! -x "${SHELL:-}" ]; then SHELL=/bin/sh; if [ -x /bin/bash ]; then SHELL=/bin/bash; fi; export SHELL; fi
if [ -d "${HOME:-}" ]; then cd "$HOME"; fi
"#;

fn words(script: String, command: &str, variables: &[(String, String)]) -> Vec<String> {
    let mut words =
        vec!["/bin/sh".to_owned(), "-c".to_owned(), script, "maar".to_owned(), command.to_owned()];
    words.extend(variables.iter().map(|(name, value)| format!("{name}={value}")));
    words
}

/// A login shell.
pub(super) fn shell(variables: &[(String, String)]) -> Vec<String> {
    words(format!("{BEFORE}exec \"$SHELL\" -l"), "", variables)
}

/// A command, as the user's shell understands it.
pub(super) fn run(command: &str, variables: &[(String, String)]) -> Vec<String> {
    words(format!("{BEFORE}exec \"$SHELL\" -c \"$command\""), command, variables)
}

/// The helper at a path, with its arguments, in the user's home.
pub(super) fn helper(path: &str, arguments: &[&str]) -> Vec<String> {
    let script = "if [ -d \"${HOME:-}\" ]; then cd \"$HOME\"; fi; exec \"$0\" \"$@\"";
    let mut words = vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned(), path.to_owned()];
    words.extend(arguments.iter().map(|&word| word.to_owned()));
    words
}

/// Places that are tried for the helper, in order.
const PLACES: &str = r#""${TMPDIR:-}" /tmp /var/tmp /dev/shm "${HOME:-}""#;

/// Says where the helper with this digest is, if it is anywhere. Only a folder that is ours will do: others in the
/// container must not give us a program to run.
pub(super) fn locate(digest: &str) -> Vec<String> {
    let script = format!(
        r#"for place in {PLACES}; do
[ -n "$place" ] || continue
folder="$place/.maar-$1"
if [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ] && [ -x "$folder/helper" ]; then
if [ "$("$folder/helper" digest 2>/dev/null)" = "$1" ]; then echo "$folder/helper"; exit 0; fi
fi
done"#
    );
    vec!["/bin/sh".to_owned(), "-c".to_owned(), script, "maar".to_owned(), digest.to_owned()]
}

/// Takes the helper, of so many bytes, from standard input, and says where it is. The first place that can be written
/// to and lets programs run is taken; the file is there whole or not at all.
pub(super) fn bring(digest: &str, size: usize) -> Vec<String> {
    let script = format!(
        r#"umask 077
for place in {PLACES}; do
[ -n "$place" ] || continue
folder="$place/.maar-$1"
mkdir -m 700 "$folder" 2>/dev/null || {{ [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ]; }} || continue
part="$folder/helper.$$"
{{ printf '#!/bin/sh\nexit 0\n' > "$part"; }} 2>/dev/null && chmod 700 "$part" && "$part" 2>/dev/null || continue
head -c "$2" > "$part" || exit 1
if [ "$("$part" digest)" != "$1" ]; then rm -f "$part"; echo "the helper did not arrive whole" >&2; exit 1; fi
mv "$part" "$folder/helper" && echo "$folder/helper"
exit
done
echo "there is no place for the helper: /tmp and the home cannot be written to, or do not let programs run" >&2
exit 1"#
    );
    let words = ["/bin/sh", "-c", &script, "maar", digest, &size.to_string()];
    words.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_that_say_how_things_look_are_taken() {
        for (name, value, want) in [
            ("LANG", "de_DE.UTF-8", true),
            ("LC_ALL", "C", true),
            ("GIT_PROTOCOL", "version=2", true),
            ("LD_PRELOAD", "/tmp/x.so", false),
            ("PATH", "/tmp", false),
            ("BASH_ENV", "/tmp/x", false),
            ("LC_x", "C", false),
            ("LC_ALL", "a\nb", false),
            ("LANG", &"x".repeat(5000), false),
        ] {
            assert_eq!(may_set(name, value, 0), want, "{name}={value}");
        }
        assert!(!may_set("LANG", "C", MOST));
    }

    #[test]
    fn names_of_terminals_are_names() {
        assert_eq!(term("xterm-256color"), Some("xterm-256color"));
        for wrong in ["", "a b", "$(reboot)", "x\ny"] {
            assert_eq!(term(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_client_says_is_never_part_of_a_script() {
        let variables = [("LANG".to_owned(), "'; reboot #".to_owned())];
        for words in [run("echo '$(x)'", &variables), shell(&variables)] {
            assert!(!words[2].contains("reboot") && !words[2].contains("echo '"), "{}", words[2]);
        }
    }

    #[test]
    fn a_real_shell_runs_what_is_said() {
        let variables = [("LANG".to_owned(), "a b\"c".to_owned())];
        let words = run("printf '%s|' \"$LANG\" \"$0\"; exit 7", &variables);
        let output = std::process::Command::new(&words[0]).args(&words[1..]).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("a b\"c|"), "{output:?}");
        assert_eq!(output.status.code(), Some(7));
    }
}
