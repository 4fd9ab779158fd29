use http::{Request, Response};
use kube::client::Body;

use super::*;

fn runtime(folder: &Path) -> LocalRuntime {
    let nobody =
        |_: Request<Body>| async { Err::<Response<Body>, _>(io::Error::other("there is no server")) };
    let program = || PathBuf::from("/usr/bin/true");
    let sandbox = Sandbox {
        bubblewrap: program(),
        nsenter: program(),
        setsid: program(),
        unshare: None,
        setpriv: None,
        version: String::new(),
    };
    let options = LocalOptions {
        name: "local".into(),
        set: "local".into(),
        clock: crate::clock::Clock::tokio(Timestamp::UNIX_EPOCH),
        state: folder.to_owned(),
        volume_roots: Vec::new(),
        address: std::net::Ipv4Addr::LOCALHOST.into(),
        api_server: None,
        tainted: true,
    };
    let client = Client::new(tower::service_fn(nobody), "default");
    LocalRuntime::new(client, sandbox, options, Arc::default(), CancellationToken::new()).unwrap()
}

#[tokio::test]
async fn what_is_left_of_a_forgotten_pod_reports_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(folder.path());
    let (known, forgotten): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
    runtime.0.controls.lock().insert((known.clone(), 0), Arc::new(Control::new(0)));
    for uid in [&known, &forgotten] {
        runtime.0.report(uid, 0, Report::Up);
    }
    assert_eq!(runtime.poked(), [known]);
}

#[test]
fn a_uid_cannot_lead_out_of_the_state_directory() {
    assert_eq!(pod_folder(Path::new("/s"), "0a-1"), Path::new("/s/pods/0a-1"));
    assert_eq!(pod_folder(Path::new("/s"), "../../etc"), Path::new("/s/pods/etc"));
}

#[test]
fn the_earliest_deadline_counts() {
    let control = Control::new(0);
    let at = |second| Timestamp::from_second(second).unwrap();
    control.stop_by(at(10));
    control.stop_by(at(20));
    assert_eq!(*control.stop.borrow(), Some(at(10)));
    control.stop_by(at(5));
    assert_eq!(*control.stop.borrow(), Some(at(5)));
}
