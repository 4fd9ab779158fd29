use proptest::prelude::*;

use super::*;
use crate::model::Member;

const CPU: ResourceId = ResourceId::CPU;

fn cpu(amount: i64) -> Amounts {
    let mut all = Amounts::default();
    all.set(CPU, amount);
    all
}

fn account(name: &str, parent: Option<&str>) -> Account {
    Account { name: name.to_owned(), parent: parent.map(str::to_owned), weight: 1, ..Account::default() }
}

fn deserving(name: &str, parent: Option<&str>, deserved: i64) -> Account {
    Account { deserved: cpu(deserved), ..account(name, parent) }
}

fn tree(total: i64, accounts: Vec<Account>) -> Tree {
    let mut tree = Tree::default();
    for account in accounts {
        tree.upsert(account);
    }
    tree.set_total(cpu(total));
    tree.set_free(cpu(total));
    tree.settle();
    tree
}

fn payer(tree: &mut Tree, account: &str) -> Payer {
    let (seat, user, space) = (tree.seat(account), tree.user("ann"), tree.space("team"));
    Payer { seat, user, space, level: ServiceLevel::Guaranteed }
}

#[test]
fn a_namespace_has_one_limit_whichever_accounts_pay_and_whoever_goes_first() {
    let mut tree = tree(100, vec![account("a", None), account("b", None)]);
    let (a, b) = (payer(&mut tree, "a"), payer(&mut tree, "b"));
    let elsewhere = Payer { space: tree.space("other"), ..a };
    tree.limit_space("team", vec![(CPU, 10)]);
    tree.charge(a, &cpu(6));
    assert_eq!(tree.admit(b, &cpu(4)), Ok(()));
    assert!(matches!(tree.admit(b, &cpu(5)), Err(Limit::Space { .. })), "what the other account pays counts");
    assert_eq!(tree.admit(elsewhere, &cpu(50)), Ok(()));
    tree.leave(a, &cpu(6));
    assert!(tree.admit(b, &cpu(5)).is_err(), "until it has left");
    tree.left(a, &cpu(6));
    assert_eq!(tree.admit(b, &cpu(5)), Ok(()));
    tree.limit_space("team", Vec::new());
    assert!(tree.settle(), "everybody is asked again");
    assert_eq!(tree.admit(b, &cpu(50)), Ok(()));
}

#[test]
fn parts_are_divided_down_the_tree() {
    let mut tree = tree(
        100,
        vec![
            deserving("a", None, 60),
            deserving("b", None, 20),
            deserving("x", Some("a"), 30),
            account("y", Some("a")),
        ],
    );
    let (a, x, y) = (tree.seat("a"), tree.seat("x"), tree.seat("y"));
    assert_eq!(tree.deserved(a).get(CPU), 60);
    assert_eq!(tree.deserved(x).get(CPU), 30);
    assert_eq!(tree.deserved(y).get(CPU), 0);
    // Twenty are deserved by nobody: the three at the top, the default account among them, get six each.
    assert_eq!(tree.entries[a.index()].part.whole(CPU), 66);
    assert_eq!(tree.entries[y.index()].part.whole(CPU), 18);
}

#[test]
fn circles_and_missing_parents_stand_at_the_top_and_are_reported() {
    let mut tree = tree(
        10,
        vec![
            account("a", Some("b")),
            account("b", Some("a")),
            account("c", Some("nobody")),
            account("d", Some("a")),
            account("e", Some("e")),
        ],
    );
    let resources = Resources::default();
    let problems: Vec<String> = tree.problems(&resources).iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "account c names the parent nobody, which does not exist: it stands at the top",
            "account a is its own ancestor: it stands at the top",
            "account b is its own ancestor: it stands at the top",
            "account e is its own ancestor: it stands at the top",
        ]
    );
    let (a, d) = (tree.seat("a"), tree.seat("d"));
    assert_eq!(tree.parent(a), Some(Seat::ROOT));
    assert_eq!(tree.parent(d), Some(a));
}

#[test]
fn children_that_deserve_more_than_there_is_shrink_and_are_reported() {
    let mut tree = tree(100, vec![deserving("a", None, 150), deserving("b", None, 50)]);
    let (a, b) = (tree.seat("a"), tree.seat("b"));
    assert_eq!((tree.deserved(a).get(CPU), tree.deserved(b).get(CPU)), (75, 25));
    let problems = tree.problems(&Resources::default());
    assert_eq!(
        problems,
        [Problem::DeservedTooMuch {
            parent: "the cluster".to_owned(),
            resource: "cpu".to_owned(),
            named: 200,
            has: 100
        }]
    );
}

#[test]
fn no_account_on_the_way_up_exceeds_its_capability() {
    let parent = Account { capability: vec![(CPU, 10)], ..account("a", None) };
    let child = Account { capability: vec![(CPU, 8)], ..account("x", Some("a")) };
    let mut tree = tree(100, vec![parent, child, account("y", Some("a"))]);
    let (x, y) = (payer(&mut tree, "x"), payer(&mut tree, "y"));
    tree.charge(y, &cpu(4));
    assert!(tree.admit(x, &cpu(6)).is_ok());
    let excess = Excess { resource: CPU, used: 4, asked: 7, cap: 10 };
    assert_eq!(tree.admit(x, &cpu(7)), Err(Limit::Capability { account: tree.seat("a"), excess }));
    let excess = Excess { resource: CPU, used: 0, asked: 9, cap: 8 };
    assert_eq!(tree.admit(x, &cpu(9)), Err(Limit::Capability { account: x.seat, excess }));
    tree.refund(y, &cpu(4));
    assert!(tree.admit(x, &cpu(8)).is_ok());
}

#[test]
fn a_member_has_a_cap_of_its_own() {
    let member = Member { user: "ann".to_owned(), capability: vec![(CPU, 2)] };
    let mut tree = tree(100, vec![Account { members: vec![member], ..account("a", None) }]);
    let ann = payer(&mut tree, "a");
    let bob = Payer { user: tree.user("bob"), ..ann };
    tree.charge(bob, &cpu(50));
    tree.charge(ann, &cpu(1));
    assert!(tree.admit(ann, &cpu(1)).is_ok());
    assert!(matches!(tree.admit(ann, &cpu(2)), Err(Limit::Member { .. })));
    assert!(tree.admit(bob, &cpu(2)).is_ok());
}

#[test]
fn the_cap_for_members_binds_everybody_who_has_none_of_their_own() {
    let member = Member { user: "ann".to_owned(), capability: vec![(CPU, 9)] };
    let capped = Account { members: vec![member], member_capability: vec![(CPU, 4)], ..account("a", None) };
    let mut tree = tree(100, vec![capped, account("x", Some("a"))]);
    let ann = payer(&mut tree, "a");
    // Nobody listed these two, and the second does not even say who it is.
    let (bob, nobody) = (Payer { user: tree.user("bob"), ..ann }, Payer { user: tree.user(""), ..ann });
    assert!(tree.admit(ann, &cpu(9)).is_ok(), "who has a cap of its own has that one");
    for one in [bob, nobody] {
        tree.charge(one, &cpu(3));
        let excess = Excess { resource: CPU, used: 3, asked: 2, cap: 4 };
        let refused = Limit::Member { account: one.seat, user: one.user, excess };
        assert_eq!(tree.admit(one, &cpu(2)), Err(refused));
        assert!(tree.refuses(one.seat, one, &cpu(2)) && !tree.within_limits_when_left(one, &cpu(2)));
        assert!(tree.admit(one, &cpu(1)).is_ok());
    }
    tree.leave(bob, &cpu(3));
    tree.charge(bob, &cpu(4));
    assert_eq!(tree.over_until_left(bob), Some(bob.seat), "until those have left who were asked to go");
    let below = Payer { seat: tree.seat("x"), ..bob };
    assert!(tree.admit(below, &cpu(5)).is_ok(), "it is about work on this account, not on those below it");
    assert!(!tree.refuses(bob.seat, below, &cpu(5)));
}

#[test]
fn what_is_leaving_counts_for_limits_until_it_has_left() {
    let limited = Account { capability: vec![(CPU, 10)], ..deserving("a", None, 5) };
    let mut tree = tree(100, vec![limited]);
    let ann = payer(&mut tree, "a");
    tree.charge(ann, &cpu(10));
    tree.leave(ann, &cpu(6));
    assert!(!tree.exceeds(ann.seat, &cpu(1), Standing::Deserved), "nothing more need be asked to go");
    assert!(tree.admit(ann, &cpu(1)).is_err());
    tree.left(ann, &cpu(6));
    assert!(tree.admit(ann, &cpu(6)).is_ok());
    tree.leave(ann, &cpu(4));
    tree.stay(ann, &cpu(4));
    assert_eq!(tree.used(ann.seat), &cpu(4));
    assert!(tree.admit(ann, &cpu(7)).is_err());
}

#[test]
fn an_account_nobody_made_gets_nothing_save_for_the_default() {
    let mut tree = tree(100, vec![]);
    let ghost = payer(&mut tree, "ghost");
    tree.settle();
    assert_eq!(tree.admit(ghost, &cpu(1)), Err(Limit::NoAccount { account: "ghost".to_owned() }));
    let default = payer(&mut tree, "");
    assert_eq!(tree.name(default.seat), "default");
    assert!(tree.admit(default, &cpu(1)).is_ok());
}

#[test]
fn what_is_guaranteed_to_others_is_kept_free() {
    let mut tree = tree(
        100,
        vec![
            Account { guaranteed: cpu(30), ..account("a", None) },
            Account { guaranteed: cpu(20), ..account("x", Some("a")) },
            account("b", None),
        ],
    );
    let (a, x, b) = (payer(&mut tree, "a"), payer(&mut tree, "x"), payer(&mut tree, "b"));
    assert!(tree.admit(b, &cpu(70)).is_ok());
    let excess = Excess { resource: CPU, used: 30, asked: 71, cap: 100 };
    assert_eq!(tree.admit(b, &cpu(71)), Err(Limit::Kept { excess }));
    tree.charge(b, &cpu(70));
    tree.set_free(cpu(30));
    assert!(tree.admit(x, &cpu(30)).is_ok(), "the parent's guarantee is the child's too");
    assert!(tree.admit(a, &cpu(10)).is_ok());
    assert!(matches!(tree.admit(a, &cpu(11)), Err(Limit::Kept { .. })), "not out of the child's");
    tree.charge(x, &cpu(20));
    tree.set_free(cpu(10));
    assert!(tree.admit(a, &cpu(10)).is_ok());
}

#[test]
fn standing_says_who_may_reclaim_and_who_must_give() {
    let mut tree = tree(100, vec![deserving("a", None, 40), deserving("b", None, 40)]);
    let (a, b) = (payer(&mut tree, "a"), payer(&mut tree, "b"));
    tree.charge(b, &cpu(60));
    assert_eq!(tree.standing(a.seat, &cpu(40)), Standing::Deserved);
    assert_eq!(tree.standing(a.seat, &cpu(46)), Standing::Extra);
    assert_eq!(tree.standing(a.seat, &cpu(47)), Standing::Over);
    assert!(tree.exceeds(b.seat, &cpu(1), Standing::Deserved));
    assert!(tree.exceeds(b.seat, &cpu(1), Standing::Extra));
    let best_effort = Payer { level: ServiceLevel::BestEffort, ..a };
    tree.charge(best_effort, &cpu(90));
    assert_eq!(
        tree.standing(a.seat, &cpu(40)),
        Standing::Deserved,
        "best-effort work does not count against it"
    );
}

proptest! {
    /// Counting along gives what building anew gives.
    #[test]
    fn counts_kept_are_counts_made_anew(moves in prop::collection::vec((0usize..5, 1i64..9, any::<bool>()), 0..40)) {
        let names = ["a", "b", "x", "y", "z"];
        let accounts = vec![
            Account { guaranteed: cpu(10), ..deserving("a", None, 30) },
            Account { guaranteed: cpu(5), ..account("b", None) },
            Account { guaranteed: cpu(8), ..account("x", Some("a")) },
            Account { guaranteed: cpu(8), ..deserving("y", Some("a"), 10) },
            account("z", Some("y")),
        ];
        let mut kept = tree(60, accounts);
        for (who, amount, guaranteed) in moves {
            let payer = payer(&mut kept, names[who]);
            let level = if guaranteed { ServiceLevel::Guaranteed } else { ServiceLevel::BestEffort };
            let payer = Payer { level, ..payer };
            if amount > 5 { kept.refund(payer, &cpu(amount - 5)) } else { kept.charge(payer, &cpu(amount)) }
        }
        let mut anew = kept.clone();
        anew.stale = true;
        anew.settle();
        for (one, other) in kept.entries.iter().zip(&anew.entries) {
            prop_assert_eq!(&one.used.all, &other.used.all);
            prop_assert_eq!(&one.used.guaranteed, &other.used.guaranteed);
            prop_assert_eq!(&one.owed, &other.owed, "{}", one.name);
            prop_assert_eq!(one.shares, other.shares);
        }
    }
}
