//! Holds the embedded cluster to what a real API server answers, row by row.
//!
//! Without a real cluster the recorded answers are the measure. With one (`make real`), the recordings are checked
//! against it first; `MAAR_RECORD=1` writes them anew.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: it stops at the first surprise and lists its rows"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maar_testkit::parity::{Row, rows, transcript};
use maar_testkit::target::Target;
use serde_json::Value;

type Transcripts = BTreeMap<String, Vec<Value>>;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("parity").join(name)
}

async fn run(target: &Target, file: &str, rows: &[Row]) -> Transcripts {
    let client = target.client().unwrap();
    let mut transcripts = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let namespace = format!("parity-{file}-{index}-{}", std::process::id());
        let answers = transcript(&client, row, &namespace)
            .await
            .unwrap_or_else(|error| panic!("{}: {error:#}", row.name));
        assert!(
            transcripts.insert(row.name.clone(), answers).is_none(),
            "two rows are called {:?}",
            row.name
        );
    }
    transcripts
}

fn recorded(file: &str) -> Transcripts {
    let path = folder("recorded").join(format!("{file}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The places where two answers differ, as `path: one | other`.
fn differences(path: &str, want: &Value, got: &Value, found: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))) {
                let missing = Value::Null;
                let (a, b) = (one.get(key).unwrap_or(&missing), other.get(key).unwrap_or(&missing));
                differences(&format!("{path}.{key}"), a, b, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (a, b)) in one.iter().zip(other).enumerate() {
                differences(&format!("{path}[{index}]"), a, b, found);
            }
        }
        _ if want == got => {}
        _ => found.push(format!("      {path}: real {want} | here {got}")),
    }
}

/// Prints every row and answers the differences.
fn compare(title: &str, want: &Transcripts, got: &Transcripts) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, answers) in got {
        let mut found = Vec::new();
        match want.get(name) {
            None => found.push("      not recorded yet: run `make real RECORD=1`".to_owned()),
            Some(wanted) => {
                let (one, other) = (Value::from(wanted.clone()), Value::from(answers.clone()));
                differences("", &one, &other, &mut found);
            }
        }
        println!("  {} {title}: {name}", if found.is_empty() { "ok  " } else { "DIFF" });
        if !found.is_empty() {
            failures.push(format!("{title}: {name}\n{}", found.join("\n")));
        }
    }
    failures
}

#[tokio::test]
async fn the_embedded_cluster_answers_as_the_real_one() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let rows = rows(&folder("rows")).unwrap();
    let real = Target::real().await.unwrap();
    if real.is_none() {
        println!("no real cluster on offer: comparing with its recorded answers (see `make real`)");
    }
    let mut failures = Vec::new();
    let mut count = 0;
    for (file, rows) in &rows {
        if let Some(real) = &real {
            let live = run(real, file, rows).await;
            #[expect(clippy::disallowed_methods, reason = "asked for on the command line")]
            let record = std::env::var("MAAR_RECORD").is_ok();
            if record {
                std::fs::create_dir_all(folder("recorded")).unwrap();
                let text = serde_json::to_string_pretty(&live).unwrap() + "\n";
                std::fs::write(folder("recorded").join(format!("{file}.json")), text).unwrap();
            }
            failures.extend(compare(&format!("{file}, recorded and real"), &live, &recorded(file)));
        }
        let embedded = Target::embedded(1).await.unwrap();
        let here = run(&embedded, file, rows).await;
        failures.extend(compare(file, &recorded(file), &here));
        count += rows.len();
    }
    assert!(failures.is_empty(), "{} of {count} rows differ:\n{}", failures.len(), failures.join("\n"));
    println!("{count} rows agree");
}
