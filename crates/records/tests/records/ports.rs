//! Ports that are shared, tickets and visits.

use jiff::Timestamp;
use maar_records::{PortPlace, PortVisit, SharedPort, TokenHash, UserId};

use crate::support::{World, at, user};

fn place(workspace: &str, uid: &str, port: u16) -> PortPlace {
    PortPlace { namespace: "user-ada".to_owned(), workspace: workspace.to_owned(), uid: uid.to_owned(), port }
}

fn share(user: &UserId, place: &PortPlace, kind: &str, expires_at: Option<Timestamp>) -> SharedPort {
    let secret = (kind == "link").then(|| TokenHash::new("hash"));
    SharedPort {
        place: place.clone(),
        user: user.clone(),
        kind: kind.to_owned(),
        secret,
        created_at: at(0),
        expires_at,
    }
}

fn visit(token: &str, ticket: bool) -> PortVisit {
    PortVisit {
        token: TokenHash::new(token),
        ticket,
        proof: "session abc".to_owned(),
        place: place("desk", "u1", 8888),
        created_at: at(0),
        expires_at: at(100),
    }
}

on_both!(a_port_is_shared_in_one_way_at_a_time_and_only_of_the_same_workspace, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await.id;
    let desk = place("desk", "u1", 8888);
    assert_eq!(records.shared_port(&desk, at(0)).await.unwrap(), None);
    let link = share(&ada, &desk, "link", Some(at(50)));
    records.share_port(&link).await.unwrap();
    assert_eq!(records.shared_port(&desk, at(49)).await.unwrap(), Some(link.clone()));
    assert_eq!(records.port_shared_by(&TokenHash::new("hash"), at(49)).await.unwrap(), Some(link));
    for (secret, now) in [("hash", 50), ("other", 1)] {
        assert_eq!(records.port_shared_by(&TokenHash::new(secret), at(now)).await.unwrap(), None);
    }
    assert_eq!(records.shared_port(&desk, at(50)).await.unwrap(), None, "it has expired");
    let again = place("desk", "u2", 8888);
    assert_eq!(records.shared_port(&again, at(1)).await.unwrap(), None, "made again under the same name");
    let account = share(&ada, &desk, "account", None);
    records.share_port(&account).await.unwrap();
    records.share_port(&share(&ada, &place("desk", "u1", 80), "account", None)).await.unwrap();
    let all = records.shared_ports("user-ada", "desk", "u1", at(60)).await.unwrap();
    assert_eq!(all.iter().map(|one| one.place.port).collect::<Vec<_>>(), [80, 8888]);
    assert_eq!(all[1], account, "instead of the link");
    records.unshare_port(&desk).await.unwrap();
    records.unshare_port(&desk).await.unwrap();
    assert_eq!(records.shared_port(&desk, at(60)).await.unwrap(), None);
});

on_both!(a_ticket_is_taken_once, async |world: World| {
    let records = &world.records;
    for token in ["a", "b"] {
        records.create_port_visit(&visit(token, true)).await.unwrap();
    }
    let token = TokenHash::new("a");
    assert_eq!(records.port_visit(&token, at(1)).await.unwrap(), None, "a ticket is no visit");
    let tries = futures::future::join_all((0..8).map(|_| records.take_port_ticket(&token, at(1)))).await;
    let count = tries.into_iter().filter(|found| found.as_ref().unwrap().is_some()).count();
    assert_eq!(count, 1);
    assert_eq!(records.take_port_ticket(&TokenHash::new("b"), at(100)).await.unwrap(), None, "too late");
});

on_both!(a_visit_lasts_until_it_ends, async |world: World| {
    let records = &world.records;
    let own = visit("v", false);
    records.create_port_visit(&own).await.unwrap();
    let token = TokenHash::new("v");
    assert_eq!(records.take_port_ticket(&token, at(1)).await.unwrap(), None, "a visit is no ticket");
    assert_eq!(records.port_visit(&token, at(99)).await.unwrap(), Some(own));
    assert_eq!(records.port_visit(&token, at(100)).await.unwrap(), None);
    records.end_port_visit(&token).await.unwrap();
    assert_eq!(records.port_visit(&token, at(1)).await.unwrap(), None);
    records.create_port_visit(&visit("w", false)).await.unwrap();
    records.purge(at(0), at(101)).await.unwrap();
    assert_eq!(records.port_visit(&TokenHash::new("w"), at(1)).await.unwrap(), None);
});
