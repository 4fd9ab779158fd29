use super::{
    chart,
    outcome::Outcome,
    run::{Options, run},
    table::{self, File},
};

const NODES: &str = "sn,cpu_milli,memory_mib,gpu\nn1,16000,65536,2\n";

fn simulated(pods: &str) -> Outcome {
    simulated_with("creation_time,deletion_time,account,job", pods)
}

fn simulated_with(columns: &str, pods: &str) -> Outcome {
    let head = format!("name,cpu_milli,memory_mib,num_gpu,gpu_milli,{columns}");
    let pods = format!("{head}\n{pods}");
    let files = (File { name: "nodes.csv", text: NODES }, File { name: "pods.csv", text: &pods });
    run(&table::read(files.0, files.1).unwrap(), &Options::default())
}

#[test]
fn pods_wait_for_those_before_them() {
    let outcome = simulated("a,1000,1024,2,1000,0,100,one,\nb,1000,1024,2,1000,50,150,two,\n");
    assert_eq!(outcome.waiting.max.to_string(), "50", "the second starts when the first ends");
    assert_eq!(
        format!("{} {}", outcome.seconds, outcome.allocation_percent),
        "100 100",
        "until the last start"
    );
    assert_eq!((outcome.pods, outcome.never_started, outcome.evictions), (2, 0, 0));
    assert_eq!(outcome.accounts.len(), 2);
    assert!((outcome.accounts[0].card_hours - 200.0 / 3600.0).abs() < 1e-9);
}

#[test]
fn jobs_start_together_or_not_at_all() {
    let outcome = simulated(
        "a,1000,1024,1,1000,0,100,one,\nb,1000,1024,1,1000,0,100,two,gang\nc,1000,1024,1,1000,0,100,two,gang\n",
    );
    assert_eq!(outcome.never_started, 0);
    let late = outcome.accounts.iter().map(|account| account.waiting.max).fold(0.0, f64::max);
    assert_eq!(late.to_string(), "100", "one card is free at once, but the gang needs two");
}

#[test]
fn those_who_make_way_use_up_their_grace_and_come_again() {
    let outcome = simulated_with(
        "creation_time,deletion_time,account,qos",
        "a,1000,1024,2,1000,0,1000,one,BE\nb,1000,1024,2,1000,100,200,two,LS\n",
    );
    assert_eq!((outcome.evictions, outcome.never_started), (1, 0));
    assert_eq!(outcome.accounts[1].waiting.max.to_string(), "30", "the grace of the one before it");
    // The first runs until 130, and once more from 230 on.
    let hours = outcome.accounts[0].card_hours;
    assert!((hours - 2.0 * (130.0 + 1000.0) / 3600.0).abs() < 1e-9, "{hours}");
}

#[test]
fn who_ends_within_its_grace_does_not_come_again() {
    let outcome = simulated_with(
        "creation_time,deletion_time,account,qos",
        "a,1000,1024,2,1000,0,110,one,BE\nb,1000,1024,2,1000,100,200,two,LS\n",
    );
    assert_eq!((outcome.evictions, outcome.never_started), (0, 0));
    assert_eq!(outcome.accounts[1].waiting.max.to_string(), "10");
}

#[test]
fn what_never_fits_is_counted() {
    let outcome = simulated("a,1000,1024,3,1000,0,100,one,\nb,1000,1024,1,1000,10,20,one,\n");
    assert_eq!(outcome.never_started, 1);
}

#[test]
fn a_load_is_what_is_asked_for_while_pods_come() {
    let head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time";
    // Two cards; one Pod runs for ever and a day, the others for 100 seconds each.
    let pods = format!(
        "{head}\na,0,0,1,1000,0,100000\nb,0,0,1,1000,100,200\nc,0,0,1,1000,500,600\nd,0,0,1,1000,1000,1100\n"
    );
    let trace = || {
        table::read(File { name: "nodes.csv", text: NODES }, File { name: "pods.csv", text: &pods }).unwrap()
    };
    let load = trace().load().unwrap();
    assert!((load - (1000.0 + 200.0) / 2000.0).abs() < 1e-9, "{load}");
    for wanted in [0.55, 0.8, 1.1] {
        let mut trace = trace();
        trace.set_load(wanted).unwrap();
        assert!((trace.load().unwrap() - wanted).abs() < 0.01, "{wanted}: {:?}", trace.load());
    }
    let most = trace().set_load(1.3).unwrap_err().to_string();
    assert!(
        most.starts_with("a load of 130 % cannot be reached: ") && most.ends_with("it is 120.0 %"),
        "{most}"
    );
    let mut never = trace();
    never.pods.iter_mut().for_each(|pod| pod.runs = None);
    assert_eq!(never.set_load(1.0), Err(super::LoadError::NoTimes));
}

#[test]
fn the_chart_shows_the_curve() {
    let outcome = simulated(
        "a,1000,1024,2,1000,0,100,one,\nb,1000,1024,1,1000,100,150,two,\nc,1000,1024,1,1000,200,300,two,\n",
    );
    let text = chart::text(&outcome, 20, 2);
    let want = "100 % │██████████\n  0 % │███████████████\n      └────────────────────\n       0            3.3 min\n";
    assert_eq!(text, want);
    let idle = simulated("a,1000,1024,1,10,0,100,one,\nb,1000,1024,1,10,100,200,one,\n");
    assert!(chart::text(&idle, 20, 2).starts_with("  1 % │"), "half a percent is seen");
    let svg = chart::svg(&outcome);
    assert!(svg.starts_with("<svg") && svg.contains("3.3 min"), "{svg}");
}
