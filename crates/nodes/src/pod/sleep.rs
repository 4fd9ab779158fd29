//! A command that only sleeps says how long its container runs, simulated or not.
//!
//! It is what everybody tries first. Any other command stays what it is to a simulation: something that runs until it is
//! stopped.

use std::time::Duration;

use serde::{Deserialize, de::IgnoredAny};

use crate::environment::expand;

/// How long a `sleep` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sleep {
    For(Duration),
    /// `infinity`, and numbers beyond what clocks count.
    Forever,
}

/// One of the container's `env`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Variable<'a> {
    name: &'a str,
    value: Option<&'a str>,
    value_from: Option<IgnoredAny>,
}

/// How long a container with this command and these arguments runs, if all it does is to sleep. `$(NAME)` is replaced where
/// the value stands in `environment`; what comes from elsewhere is not known here, so such a command is any other.
pub(crate) fn of_command(
    command: &[&str],
    arguments: &[&str],
    environment: &[Variable<'_>],
) -> Option<Sleep> {
    let words = [command, arguments].concat();
    // Nearly all Pods: nothing to expand, nothing to allocate.
    let program = words.first()?;
    if !program.contains('$') && !is(program, "sleep") && !is_shell(program) {
        return None;
    }
    let variables = known(environment);
    let words: Vec<String> = words.iter().map(|word| expand(word, &variables)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [program, "-c", script] if is_shell(program) => {
            of_words(&script.trim().split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>())
        }
        _ => of_words(&words),
    }
}

fn of_words(words: &[&str]) -> Option<Sleep> {
    let (program, durations) = words.split_first()?;
    if is(program, "sleep") { total(durations) } else { None }
}

/// The durations of a `sleep` added up, as coreutils reads them: numbers of seconds, minutes, hours or days. None where it
/// would refuse.
pub(crate) fn total(durations: &[impl AsRef<str>]) -> Option<Sleep> {
    let seconds = durations.iter().map(|text| seconds(text.as_ref())).sum::<Option<f64>>();
    let seconds = seconds.filter(|_| !durations.is_empty())?;
    Some(Duration::try_from_secs_f64(seconds).map_or(Sleep::Forever, Sleep::For))
}

fn seconds(text: &str) -> Option<f64> {
    let units = [('s', 1.0), ('m', 60.0), ('h', 3_600.0), ('d', 86_400.0)];
    let unit = units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.unwrap_or((text, 1.0));
    // What begins with a minus is an option.
    let number = number.parse::<f64>().ok().filter(|number| !number.is_nan() && !text.starts_with('-'))?;
    Some(number * factor)
}

/// Variables whose values are written down, in the order in which they may refer to each other.
fn known(environment: &[Variable<'_>]) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    for variable in environment {
        let value = expand(variable.value.unwrap_or_default(), &known);
        known.retain(|(name, _)| name != variable.name);
        if variable.value_from.is_none() {
            known.push((variable.name.to_owned(), value));
        }
    }
    known
}

fn is_shell(program: &str) -> bool {
    ["sh", "bash", "ash", "dash"].into_iter().any(|shell| is(program, shell))
}

/// Whether this is the system's program of that name; one elsewhere may be anything.
fn is(program: &str, name: &str) -> bool {
    let bare = program.strip_prefix("/usr/bin/").or_else(|| program.strip_prefix("/bin/"));
    bare.unwrap_or(program) == name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(command: &[&str], arguments: &[&str]) -> Option<Sleep> {
        of_command(command, arguments, &[])
    }

    #[test]
    fn only_what_is_a_sleep_and_nothing_else_says_how_long_it_runs() {
        let lasts = |seconds| Some(Sleep::For(Duration::from_secs_f64(seconds)));
        let rows: &[(&[&str], Option<Sleep>)] = &[
            (&["sleep", "60"], lasts(60.0)),
            (&["sleep", "2.5"], lasts(2.5)),
            (&["sleep", ".5s"], lasts(0.5)),
            (&["sleep", "0"], lasts(0.0)),
            (&["sleep", "1m"], lasts(60.0)),
            (&["sleep", "1h"], lasts(3_600.0)),
            (&["sleep", "1d"], lasts(86_400.0)),
            (&["sleep", "1h", "30m", "1"], lasts(5_401.0)),
            (&["sleep", "1e3"], lasts(1_000.0)),
            (&["/bin/sleep", "5"], lasts(5.0)),
            (&["/usr/bin/sleep", "5"], lasts(5.0)),
            (&["sleep", "infinity"], Some(Sleep::Forever)),
            (&["sleep", "inf", "1"], Some(Sleep::Forever)),
            (&["sleep", "1e300"], Some(Sleep::Forever)),
            (&["sh", "-c", "sleep 60"], lasts(60.0)),
            (&["/bin/sh", "-c", "  sleep\t1m  30s\n"], lasts(90.0)),
            (&["bash", "-c", "/bin/sleep infinity"], Some(Sleep::Forever)),
            (&["sleep"], None),
            (&[], None),
            (&["sleep", ""], None),
            (&["sleep", "-1"], None),
            (&["sleep", "-0"], None),
            (&["sleep", "nan"], None),
            (&["sleep", "soon"], None),
            (&["sleep", "500ms"], None),
            (&["sleep", "1", "soon"], None),
            (&["sleep", "--help"], None),
            (&["./sleep", "5"], None),
            (&["/opt/bin/sleep", "5"], None),
            (&["python", "sleep", "5"], None),
            (&["sh", "-c", "sleep 5; echo done"], None),
            (&["sh", "-c", "sleep 5 && exit 3"], None),
            (&["sh", "-c", "sleep 5 &"], None),
            (&["sh", "-c", "sleep\n5"], None),
            (&["sh", "-c", "sleep $TIME"], None),
            (&["sh", "-c", "trap 'exit 0' TERM INT; sleep infinity & wait"], None),
            (&["sh", "-c", "sleep 5", "name"], None),
            (&["sh", "-ec", "sleep 5"], None),
            (&["sh", "sleep 5"], None),
            (&["sh", "-c", ""], None),
        ];
        for (words, want) in rows {
            assert_eq!(read(words, &[]), *want, "{words:?}");
            for middle in 0..words.len() {
                assert_eq!(read(&words[..middle], &words[middle..]), *want, "{words:?} at {middle}");
            }
        }
    }

    #[test]
    fn what_the_environment_says_is_put_in_and_what_it_does_not_say_is_not_guessed() {
        let environment = json!([
            { "name": "TIME", "value": "90" },
            { "name": "LONG", "value": "$(TIME)m" },
            { "name": "GIVEN", "value": "1" },
            { "name": "GIVEN", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
            { "name": "EMPTY" },
        ]);
        let environment = Vec::<Variable<'_>>::deserialize(&environment).unwrap();
        let minutes = |count| Some(Sleep::For(Duration::from_mins(count)));
        let rows: &[(&[&str], Option<Sleep>)] = &[
            (&["sleep", "$(TIME)m"], minutes(90)),
            (&["sleep", "$(LONG)"], minutes(90)),
            (&["sh", "-c", "sleep $(LONG)"], minutes(90)),
            (&["sleep", "$$(TIME)"], None),
            (&["sleep", "$(GIVEN)"], None),
            (&["sleep", "$(EMPTY)"], None),
            (&["sleep", "$(OTHER)"], None),
        ];
        for (words, want) in rows {
            assert_eq!(of_command(words, &[], &environment), *want, "{words:?}");
        }
    }
}
