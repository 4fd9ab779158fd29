//! What the documents say of tests is so.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const DOCUMENT: &str = include_str!("../../../../docs/operations/security.md");

/// All files of the crates, with their text.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut folders, mut found) = (vec![root.clone()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// Whether a text has a test of this name; one that ends in … is the beginning of one.
fn has(text: &str, name: &str) -> bool {
    let (begin, end) = name.strip_suffix('…').map_or((name, "("), |begin| (begin, ""));
    let function = format!("fn {begin}{end}");
    let of_two_databases = format!("on_both!({begin}{}", if end.is_empty() { "" } else { "," });
    let at = text.find(&function);
    let marked = at.is_some_and(|at| {
        let before = &text[..at];
        let lines: Vec<&str> = before.lines().rev().take(8).collect();
        lines
            .iter()
            .any(|line| line.contains("test]") || line.contains("test(") || line.contains("scenario!"))
            || before.contains("proptest! {")
            || before.contains("scenario! {")
    });
    marked || text.contains(&of_two_databases)
}

/// Where the tests of each table are unless another place is named.
const USUAL: [&str; 4] = [
    "portal/tests/portal/holes.rs",
    "portal/tests/providers/",
    "issuer/tests/issuer/attacks.rs",
    "portal/tests/portal/ssh.rs",
];

/// A cell of the table: what it names, each with the file or crate that is named behind it.
fn named(cell: &str) -> Vec<(String, Option<String>)> {
    let (mut all, mut since) = (Vec::new(), 0);
    for word in cell.split('`').skip(1).step_by(2) {
        let place = word.contains('/')
            || std::path::Path::new(word).extension().is_some_and(|end| end == "rs")
            || matches!(word, "gateway" | "maar" | "real_kubeconfig");
        if place {
            for (_, file) in &mut all[since..] {
                *file = Some(word.to_owned());
            }
            since = all.len();
        } else {
            all.push((word.to_owned(), None));
        }
    }
    all
}

/// Whether what a row names is there: a test at one of these places, or a module with tests.
fn is_there(sources: &BTreeMap<String, String>, name: &str, places: &[&str]) -> bool {
    let at = |file: &str| {
        let whole = format!("crates/{file}");
        places.iter().any(|place| {
            whole.ends_with(place) || whole.contains(&format!("{}/", place.trim_end_matches('/')))
        })
    };
    // A module by its path, such as rules::text, whatever place is said of tests beside it.
    let module = format!("/{}.rs", name.replace("::", "/"));
    let of_module = |file: &str, text: &str| file.ends_with(&module) && text.contains("mod tests");
    sources.iter().any(|(file, text)| at(file) && has(text, name) || of_module(file, text))
}

#[test]
fn every_test_that_the_document_names_is_there() {
    let sources = sources();
    let tables: Vec<&str> = DOCUMENT.split("| Hole | Test |\n|---|---|\n").skip(1).collect();
    assert_eq!(tables.len(), USUAL.len());
    let rows: Vec<(&str, &str)> = tables
        .iter()
        .zip(USUAL)
        .flat_map(|(table, usual)| {
            table.lines().take_while(|line| line.starts_with('|')).map(move |line| (usual, line))
        })
        .collect();
    let (mut missing, mut counted) = (Vec::new(), 0);
    for (usual, row) in &rows {
        let (hole, tests) = row.trim_matches('|').split_once(" | ").unwrap();
        let all = named(tests);
        // Two rows are about everything that is tested there.
        assert!(!all.is_empty() || tests.contains("the whole of") || tests.contains("every test"), "{hole}");
        for (name, place) in all.into_iter().filter(|(name, _)| !name.contains(' ')) {
            counted += 1;
            let places: Vec<&str> = place.as_deref().into_iter().chain([*usual]).collect();
            if !is_there(&sources, &name, &places) {
                missing.push(format!("{name} in {place:?}, of {}", hole.trim()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(rows.len() > 100 && counted > 150, "{} rows, {counted} tests", rows.len());
    // It would notice.
    assert!(!is_there(&sources, "a_test_that_nobody_wrote", &USUAL));
    assert!(!is_there(&sources, "names_of_images_are_no_commands", &["things.rs"]));
}
