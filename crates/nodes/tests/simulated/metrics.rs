//! Card metrics: valid in Prometheus' text format, and plausible.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::{absent::absent, ask, world_of};

const SHARED: &str = "
name: test
startDelay: 1s
pools:
  - name: gpu
    count: 1
    cpu: 32
    memory: 64Gi
    cards: {resource: nvidia.com/gpu, count: 4, vendor: nvidia, model: 'NVIDIA \"A100\"', memory: 80Gi, power: {idle: 60, full: 400}}
  - name: npu
    count: 1
    cpu: 32
    memory: 64Gi
    cards: {resource: huawei.com/npu, count: 2, replicas: 3, vendor: huawei, model: Ascend910, memory: 64Gi}
";

type Labels = BTreeMap<String, String>;

/// Families of samples, by name; panics where the text breaks a rule of the format.
fn parse(text: &str) -> BTreeMap<String, Vec<(Labels, f64)>> {
    let mut families: BTreeMap<String, Vec<(Labels, f64)>> = BTreeMap::new();
    let (mut current, mut closed) = (String::new(), BTreeSet::new());
    let (mut helped, mut typed) = (BTreeSet::new(), BTreeSet::new());
    assert!(text.is_empty() || text.ends_with('\n'), "the last line ends");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (keyword, name, what) = (words.next(), words.next().expect("a name"), words.next());
            match keyword {
                Some("HELP") => assert!(helped.insert(name.to_owned()), "{name} is helped once"),
                Some("TYPE") => {
                    assert!(matches!(what, Some("gauge" | "counter")), "{line}");
                    assert!(!families.contains_key(name), "{name} has its type before its samples");
                    assert!(typed.insert(name.to_owned()), "{name} has one type");
                }
                _ => {}
            }
            continue;
        }
        let (name, labels, value) = sample(line);
        if name != current {
            assert!(closed.insert(name.clone()), "the samples of {name} stand together");
            current.clone_from(&name);
        }
        assert!(typed.contains(&name) && helped.contains(&name), "{name} has help and type");
        let family = families.entry(name).or_default();
        assert!(!family.iter().any(|(known, _)| *known == labels), "twice: {line}");
        family.push((labels, value));
    }
    families
}

fn is_name(text: &str, more: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || more.contains(letter))
}

/// Name, labels and value of a line.
fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).unwrap_or(line.len());
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name, ":"), "{line}");
    let mut labels = Labels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").expect("a label");
            assert!(is_name(label, ""), "{line}");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').expect("a space before the value");
    (name.to_owned(), labels, value.parse().expect("one number and nothing after it"))
}

/// A quoted value and what follows it.
fn quoted(text: &str) -> (String, &str) {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((position, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[position + 1..]),
            '\\' => match letters.next().expect("something is escaped").1 {
                'n' => value.push('\n'),
                escaped => {
                    assert!("\\\"".contains(escaped), "\\{escaped}");
                    value.push(escaped);
                }
            },
            other => value.push(other),
        }
    }
    unreachable!("the value does not end: {text}");
}

fn values(text: &str, family: &str) -> Vec<f64> {
    parse(text).remove(family).unwrap_or_default().into_iter().map(|(_, value)| value).collect()
}

#[tokio::test(start_paused = true)]
async fn card_metrics_are_valid_and_follow_the_pods() {
    let world = world_of(SHARED).await;
    let idle = ask(&world, "gpu-0", "/metrics").await;
    assert_eq!(values(&idle, "DCGM_FI_DEV_GPU_UTIL"), [0.0; 4]);
    assert_eq!(values(&idle, "DCGM_FI_DEV_POWER_USAGE"), [60.0; 4]);
    let cards = |count: u32| json!({ "resources": { "limits": { "nvidia.com/gpu": count.to_string() } } });
    let busy = json!({ "sim.maar.io/gpu-utilization": "85", "sim.maar.io/gpu-memory": "40Gi" });
    world.create("busy", "gpu-0", busy, cards(2)).await;
    world.create("lazy", "gpu-0", json!({ "sim.maar.io/gpu-utilization": "10-20" }), cards(1)).await;
    world.phase("busy", "Running").await;
    world.phase("lazy", "Running").await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_mins(3)).await;
        let families = parse(&ask(&world, "gpu-0", "/metrics").await);
        let of = |family: &str, pod: &str| -> Vec<f64> {
            let samples = families[family].iter().filter(|(labels, _)| labels["pod"] == pod);
            samples.map(|(_, value)| *value).collect()
        };
        assert_eq!(of("DCGM_FI_DEV_GPU_UTIL", "busy"), [85.0, 85.0]);
        assert_eq!(of("DCGM_FI_DEV_FB_USED", "busy"), [40_960.0, 40_960.0]);
        assert_eq!(of("DCGM_FI_DEV_FB_FREE", "busy"), [40_960.0, 40_960.0]);
        let [lazy] = of("DCGM_FI_DEV_GPU_UTIL", "lazy")[..] else { panic!("one card") };
        assert!((10.0..=20.0).contains(&lazy), "{lazy}");
        assert_eq!(of("DCGM_FI_DEV_GPU_UTIL", ""), [0.0]);
        let [warm, cold] = [of("DCGM_FI_DEV_GPU_TEMP", "busy")[0], of("DCGM_FI_DEV_GPU_TEMP", "")[0]];
        assert!(warm > cold && warm < 95.0 && cold > 20.0, "{warm} and {cold} degrees");
        let power = of("DCGM_FI_DEV_POWER_USAGE", "busy")[0];
        assert!((300.0..=400.0).contains(&power), "{power} W");
        assert!(families["DCGM_FI_DEV_GPU_UTIL"][0].0["modelName"] == "NVIDIA \"A100\"");
    }
    world.pods().delete("busy", &DeleteParams::default()).await.expect("deletable");
    world.until("busy", Value::is_null).await;
    let after = ask(&world, "gpu-0", "/metrics").await;
    assert_eq!(values(&after, "DCGM_FI_DEV_GPU_UTIL").iter().filter(|value| **value > 50.0).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_container_with_several_shares_of_a_card_is_one_series() {
    let world = world_of(SHARED).await;
    let shares = json!({ "resources": { "limits": { "huawei.com/npu": "5" } } });
    world.create("wide", "npu-0", json!({ "sim.maar.io/gpu-utilization": "30" }), shares).await;
    world.phase("wide", "Running").await;
    let text = ask(&world, "npu-0", "/metrics").await;
    assert_eq!(values(&text, "npu_chip_info_utilization"), [30.0, 30.0], "{text}");
    let used = ask(&world, "npu-0", "/metrics/resource").await;
    assert!(values(&used, "pod_cpu_usage_seconds_total").len() == 1, "{used}");
}

/// On PATH, or where `dev/real build` unpacked it.
fn promtool() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = variable("MAAR_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("maar")))
        .or_else(|| Some(variable("HOME")?.join(".cache/maar")));
    let unpacked = cache.map(|cache| cache.join("debian/prometheus/usr/bin"));
    let folders = variable("PATH").iter().flat_map(std::env::split_paths).collect::<Vec<_>>();
    folders.into_iter().chain(unpacked).map(|folder| folder.join("promtool")).find(|path| path.is_file())
}

#[tokio::test(start_paused = true)]
async fn promtool_takes_the_metrics() {
    let Some(promtool) = promtool() else { return absent("promtool") };
    let world = world_of(SHARED).await;
    let cards = json!({ "resources": { "limits": { "nvidia.com/gpu": "2" } } });
    world.create("busy", "gpu-0", json!({}), cards).await;
    world.phase("busy", "Running").await;
    for (node, path) in [("gpu-0", "/metrics"), ("npu-0", "/metrics"), ("gpu-0", "/metrics/resource")] {
        let text = ask(&world, node, path).await;
        let mut child = Command::new(&promtool)
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("promtool runs");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("promtool ends");
        // Exit code 3 is about style: the vendors' names are as they are.
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{node}{path}: {said}");
    }
}
