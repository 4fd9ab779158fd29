//! What runs in the Pod: command lines, and which variables a client may set. Pure.

use super::session::Size;
use crate::hangup::TELL;

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

/// Gives the terminal its size before anything looks at it (the size that exec carries comes when the program runs
/// already), sets the variables, finds the user's shell and goes home, as sshd does.
const BEFORE: &str = r#"command=$1 rows=$2 columns=$3; shift 3
if [ -n "$rows" ]; then stty rows "$rows" cols "$columns" 2>/dev/null; fi
for variable in "$@"; do export "$variable"; done
if [ ! -x "${SHELL:-}" ]; then SHELL=/bin/sh; if [ -x /bin/bash ]; then SHELL=/bin/bash; fi; export SHELL; fi
if [ -d "${HOME:-}" ]; then cd "$HOME"; fi
"#;

/// What a program finds when it begins: the size of its terminal, if it has one, and variables.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Setting<'a> {
    pub(super) size: Option<Size>,
    pub(super) variables: &'a [(String, String)],
}

fn words(end: &str, command: &str, setting: Setting<'_>) -> Vec<String> {
    let number =
        |length: fn(Size) -> u16| setting.size.map(|size| length(size).to_string()).unwrap_or_default();
    let (rows, columns) = (number(|size| size.rows), number(|size| size.columns));
    let script = format!("{TELL}{BEFORE}{end}");
    let mut words = ["/bin/sh", "-c", &script, "maar", command, &rows, &columns].map(str::to_owned).to_vec();
    words.extend(setting.variables.iter().map(|(name, value)| format!("{name}={value}")));
    words
}

/// A login shell.
pub(super) fn shell(setting: Setting<'_>) -> Vec<String> {
    words("exec \"$SHELL\" -l", "", setting)
}

/// A command, as the user's shell understands it.
pub(super) fn run(command: &str, setting: Setting<'_>) -> Vec<String> {
    words("exec \"$SHELL\" -c \"$command\"", command, setting)
}

/// Places that are tried for the helper, in order.
pub(super) const PLACES: &str = r#""${TMPDIR:-}" /tmp /var/tmp /dev/shm "${HOME:-}""#;

/// What is said before the helper has its turn.
pub(super) const THERE: u8 = b'+';

/// Begins the helper with this digest, with its arguments, in the user's home, and says so first; says nothing where there
/// is none. It is looked for every time: a container that has begun anew has none of the files that it had, and whatever
/// is remembered of it is remembered too late. Only a folder that is ours will do: others in the container must not give
/// us a program to run.
pub(super) fn helper(places: &str, digest: &str, arguments: &[&str]) -> Vec<String> {
    let there = char::from(THERE);
    let script = format!(
        r#"for place in {places}; do
case $place in /*) ;; *) continue ;; esac
folder="$place/.maar-$1"
if [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ] && [ -x "$folder/helper" ]; then
if [ "$("$folder/helper" digest 2>/dev/null)" = "$1" ]; then
shift; if [ -d "${{HOME:-}}" ]; then cd "$HOME"; fi
printf '{there}'; exec "$folder/helper" "$@"
fi
fi
done"#
    );
    let words = ["/bin/sh", "-c", &script, "maar", digest].into_iter().chain(arguments.iter().copied());
    words.map(str::to_owned).collect()
}

/// Says the first bytes of a program: of `head` itself, which is one for the processor of the container.
pub(super) fn head(length: usize) -> Vec<String> {
    let length = length.to_string();
    ["/bin/sh", "-c", "exec head -c \"$1\" /proc/self/exe", "maar", &length].map(str::to_owned).to_vec()
}

/// Takes the helper, of so many bytes, from standard input. The first place that can be written to and lets programs run
/// is taken; the file is there whole or not at all.
pub(super) fn bring(places: &str, digest: &str, size: usize) -> Vec<String> {
    let script = format!(
        r#"umask 077
for place in {places}; do
case $place in /*) ;; *) continue ;; esac
folder="$place/.maar-$1"
mkdir -m 700 "$folder" 2>/dev/null || {{ [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ]; }} || continue
part="$folder/helper.$$"
{{ printf '#!/bin/sh\nexit 0\n' > "$part"; }} 2>/dev/null && chmod 700 "$part" && "$part" 2>/dev/null || continue
head -c "$2" > "$part" || exit 1
if [ "$("$part" digest)" != "$1" ]; then rm -f "$part"; echo "the helper did not arrive whole" >&2; exit 1; fi
mv "$part" "$folder/helper"
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
            ("SSH_AUTH_SOCK", "/tmp/x", false),
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
        let setting = Setting { size: None, variables: &variables };
        for words in [run("echo '$(x)'", setting), shell(setting)] {
            assert!(!words[2].contains("reboot") && !words[2].contains("echo '"), "{}", words[2]);
        }
    }

    #[test]
    fn a_real_shell_runs_what_is_said() {
        let variables = [("LANG".to_owned(), "a b\"c".to_owned())];
        let size = Some(Size { columns: 132, rows: 50 });
        let words = run("printf '%s|' \"$LANG\" \"$0\"; exit 7", Setting { size, variables: &variables });
        let output = std::process::Command::new(&words[0]).args(&words[1..]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let (told, said) = said.split_once('\n').unwrap();
        assert!(told.starts_with("+pipe:[") && told.contains(" pipe:["), "{told}");
        assert!(said.starts_with("a b\"c|"), "{said}");
        assert_eq!(output.status.code(), Some(7));
    }
}
