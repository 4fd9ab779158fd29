//! Holds the embedded cluster to what a real API server answers, row by row.
//!
//! Without a real cluster the recorded answers are the measure. With one (`make real`), the recordings are checked
//! against it first; `MAAR_RECORD=1` writes them anew. `MAAR_PARITY=text` plays only the files and rows whose name
//! has that text in it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: it stops at the first surprise and lists its rows"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::StreamExt as _;
use maar_testkit::parity::{Known, Row, diff, known_differences, rows, transcript};
use maar_testkit::target::Target;
use serde_json::Value;
use tokio::runtime::Builder;

type Transcripts = BTreeMap<String, Vec<Value>>;
type Suite = BTreeMap<String, Vec<Row>>;

/// How many rows a real cluster plays at a time: each is in a namespace of its own and mostly waits.
const AT_ONCE: usize = 8;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("parity")
}

#[expect(clippy::disallowed_methods, reason = "asked for on the command line")]
fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn suite() -> Suite {
    let mut suite = rows(&folder().join("rows")).unwrap();
    if let Some(text) = asked("MAAR_PARITY") {
        for (file, rows) in &mut suite {
            rows.retain(|row| file.contains(&text) || row.name.contains(&text));
        }
        suite.retain(|_, rows| !rows.is_empty());
    }
    let mut names: Vec<&str> = suite.values().flatten().map(|row| row.name.as_str()).collect();
    names.sort_unstable();
    for (name, next) in names.iter().zip(names.iter().skip(1)) {
        assert_ne!(name, next, "two rows have one name");
    }
    suite
}

async fn run(target: &Target, file: &str, rows: &[Row], at_once: usize) -> Transcripts {
    let client = target.blunt_client().unwrap();
    let play = |(index, row): (usize, &Row)| {
        let (client, row) = (client.clone(), row.clone());
        let namespace = format!("parity-{file}-{index}-{}", std::process::id());
        async move {
            let answers = transcript(&client, &row, &namespace).await;
            (row.name.clone(), answers.unwrap_or_else(|error| vec![format!("{error:#}").into()]))
        }
    };
    futures::stream::iter(rows.iter().enumerate().map(play)).buffer_unordered(at_once).collect().await
}

fn recording(file: &str) -> PathBuf {
    folder().join("recorded").join(format!("{file}.json"))
}

fn recorded(file: &str) -> Transcripts {
    let path = recording(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn record(file: &str, live: &Transcripts) {
    let mut all = if recording(file).exists() { recorded(file) } else { Transcripts::new() };
    let named = rows(&folder().join("rows")).unwrap();
    all.retain(|name, _| named[file].iter().any(|row| row.name == *name));
    all.extend(live.clone());
    std::fs::create_dir_all(folder().join("recorded")).unwrap();
    std::fs::write(recording(file), serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
}

/// What is different between two transcripts, step by step.
fn differences(want: Option<&Vec<Value>>, got: &[Value]) -> String {
    let Some(want) = want else {
        return "      not recorded yet: `MAAR_RECORD=1 make real`\n".to_owned();
    };
    let mut found = String::new();
    for index in 0..want.len().max(got.len()) {
        let step = |answers: &[Value]| answers.get(index).cloned().unwrap_or_default();
        if let Some(text) = diff(&step(want), &step(got)) {
            let request = step(want)["request"].as_str().unwrap_or("another number of answers").to_owned();
            let heading = format!("    answer {} ({request}): - real, + here\n", index + 1);
            found.extend([heading, text]);
        }
    }
    found
}

/// Prints every row and answers the failures.
fn compare(title: &str, want: &Transcripts, got: &Transcripts, known: &[Known]) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, answers) in got {
        let found = differences(want.get(name), answers);
        let known = known.iter().find(|known| known.row == *name);
        match (found.is_empty(), known) {
            (true, None) => println!("  ok    {title}: {name}"),
            (false, Some(known)) => println!("  known {title}: {name} ({})", known.reason),
            (true, Some(_)) => {
                println!("  DIFF  {title}: {name}");
                failures
                    .push(format!("{title}: {name}\n    agrees now: take it off known_differences.yaml\n"));
            }
            (false, None) => {
                println!("  DIFF  {title}: {name}");
                failures.push(format!("{title}: {name}\n{found}"));
            }
        }
    }
    failures
}

/// Plays rows on the real cluster, and those again, alone, that were not answered as they were recorded: behind an answer
/// stand caches and controllers, and a busy machine shows another moment of them. The one of quotas even finds nothing to
/// write when one of its caches is behind, and looks again after five minutes. What is never answered so again differs.
async fn play_real(real: &Target, file: &str, rows: &[Row]) -> Transcripts {
    let mut live = run(real, file, rows, AT_ONCE).await;
    let kept = if recording(file).exists() { recorded(file) } else { Transcripts::new() };
    for attempt in 1..=2 {
        let other = |row: &&Row| !differences(kept.get(&row.name), &live[&row.name]).is_empty();
        let again: Vec<Row> = rows.iter().filter(other).cloned().collect();
        for row in &again {
            println!("  again {file}: {}", row.name);
        }
        live.extend(run(real, &format!("{file}-{attempt}"), &again, 1).await);
    }
    live
}

/// The recordings against the real cluster, if there is one.
async fn check_recordings(suite: &Suite) -> Vec<String> {
    let Some(real) = Target::real().await.unwrap() else {
        println!("no real cluster on offer: comparing with its recorded answers (see `make real`)");
        return Vec::new();
    };
    let mut failures = Vec::new();
    for (file, rows) in suite {
        let live = play_real(&real, file, rows).await;
        if asked("MAAR_RECORD").is_some() {
            record(file, &live);
        }
        let mut kept = recorded(file);
        // Of rows that were not asked for nothing is known.
        kept.retain(|name, _| live.contains_key(name));
        failures.extend(compare(&format!("{file}, recorded and real"), &live, &kept, &[]));
    }
    failures
}

async fn check_embedded(suite: &Suite) -> Vec<String> {
    let known = known_differences(&folder().join("known_differences.yaml")).unwrap();
    let mut failures = Vec::new();
    for (file, rows) in suite {
        let embedded = Target::embedded(1).await.unwrap();
        let here = run(&embedded, file, rows, 1).await;
        failures.extend(compare(file, &recorded(file), &here, &known));
    }
    failures
}

#[test]
fn the_embedded_cluster_answers_as_the_real_one() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let suite = suite();
    let on_the_clock = Builder::new_current_thread().enable_all().build().unwrap();
    let mut failures = on_the_clock.block_on(check_recordings(&suite));
    // Watches and grace periods of the embedded cluster take no time at all.
    let paused = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    failures.extend(paused.block_on(check_embedded(&suite)));
    let count: usize = suite.values().map(Vec::len).sum();
    assert!(failures.is_empty(), "{} of {count} rows differ:\n{}", failures.len(), failures.join("\n"));
    println!("{count} rows agree");
}
