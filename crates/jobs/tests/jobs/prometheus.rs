//! Card use from a real Prometheus with a past that was made up for it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maar_jobs::{CardUse as _, Prometheus};
use maar_testkit::ports::free_port;

/// A program on PATH, or where `dev/real build` unpacked it.
fn program(name: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = variable("MAAR_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("maar")))
        .or_else(|| Some(variable("HOME")?.join(".cache/maar")));
    let unpacked = cache.map(|cache| cache.join("debian/prometheus/usr/bin"));
    let folders = variable("PATH").iter().flat_map(std::env::split_paths).collect::<Vec<_>>();
    folders.into_iter().chain(unpacked).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The end of what is known: an hour ago, at a full minute.
const END: i64 = 1_790_000_000 / 60 * 60;

/// Two hours of four Pods, a sample every half minute.
fn past() -> String {
    let mut text =
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n".to_owned();
    let mut series = |pod: &str, card: &str, value: &dyn Fn(i64) -> Option<i64>| {
        for ago in (0..=7200).rev().step_by(30) {
            if let Some(value) = value(ago) {
                let labels = format!("namespace=\"lab\",pod=\"{pod}\",UUID=\"{card}\",gpu=\"0\"");
                let _ = writeln!(text, "DCGM_FI_DEV_GPU_UTIL{{{labels}}} {value} {}", END - ago);
            }
        }
    };
    series("idle", "a", &|_| Some(0));
    series("idle", "b", &|_| Some(2));
    series("busy", "c", &|ago| Some(if ago == 2400 { 60 } else { 0 }));
    series("gap", "d", &|ago| (!(1200..1800).contains(&ago)).then_some(0));
    series("young", "e", &|ago| (ago < 600).then_some(0));
    text.push_str("# EOF\n");
    text
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(prometheus: &Path, promtool: &Path, folder: &Path, port: u16) -> Server {
    let (input, config, data) = (folder.join("past"), folder.join("config.yml"), folder.join("data"));
    std::fs::write(&input, past()).unwrap();
    std::fs::write(&config, "global: {}\n").unwrap();
    let blocks = Command::new(promtool)
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&input, &data])
        .output()
        .unwrap();
    assert!(blocks.status.success(), "{}", String::from_utf8_lossy(&blocks.stderr));
    let server = Command::new(prometheus)
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", data.display()))
        .arg("--storage.tsdb.retention.time=100y")
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Server(server)
}

#[tokio::test]
async fn a_real_prometheus_tells_what_is_idle_and_what_is_not_known() {
    let (Some(prometheus), Some(promtool)) = (program("prometheus"), program("promtool")) else {
        return maar_testkit::absent!("prometheus");
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let _server = start(&prometheus, &promtool, folder.path(), port);
    let source = Prometheus::new(&format!("http://127.0.0.1:{port}")).unwrap();
    let (now, hour) = (Timestamp::from_second(END).unwrap(), SignedDuration::from_hours(1));
    let mut answer = source.highest(now, hour).await;
    for _ in 0..100 {
        if answer.is_ok() {
            break;
        }
        // A program of the outside has no simulated time.
        tokio::time::sleep(Duration::from_millis(200)).await;
        answer = source.highest(now, hour).await;
    }
    let readings = answer.unwrap();
    let of = |pod: &str| readings[&("lab".to_owned(), pod.to_owned())].clone();
    assert_eq!(of("idle"), [Some(0.0), Some(2.0)]);
    assert_eq!(of("busy"), [Some(60.0)]);
    assert_eq!(of("gap"), [None], "nobody knows what it did for ten minutes");
    assert_eq!(of("young"), [None]);
    let short = source.highest(now, SignedDuration::from_mins(5)).await.unwrap();
    assert_eq!(short[&("lab".to_owned(), "young".to_owned())], [Some(0.0)]);
    // A server that answers with an error is not one that says idle.
    let wrong = Prometheus::new(&format!("http://127.0.0.1:{port}/nowhere")).unwrap();
    assert!(wrong.highest(now, hour).await.is_err());
    let nobody = Prometheus::new("http://127.0.0.1:9").unwrap();
    let error = nobody.highest(now, hour).await.unwrap_err().to_string();
    assert!(error.contains("http://127.0.0.1:9"), "{error}");
}
