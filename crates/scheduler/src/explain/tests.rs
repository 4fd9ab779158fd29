use super::*;

fn waiting() -> Explanation {
    Explanation {
        group: "lab/train".to_owned(),
        account: "physics".to_owned(),
        state: State::NoRoom { pods: 4, fit: Some(1) },
        queue: Some(Position {
            ahead: 7,
            first: vec!["lab/a".to_owned(), "lab/b".to_owned()],
            share: 0.5,
            accounts: vec!["chemistry".to_owned()],
        }),
        nodes: Some(Nodes {
            total: 12,
            removed: vec![
                Removed { nodes: 9, why: "have no cards of the size asked for left".to_owned() },
                Removed { nodes: 3, why: "are cordoned".to_owned() },
            ],
        }),
        must_end: vec![
            Ending { name: "lab/old".to_owned(), pods: 2, ends: Some(600_000) },
            Ending { name: "lab/endless".to_owned(), pods: 1, ends: None },
        ],
        start: Some(600_000),
        deadline: None,
        reserved: true,
    }
}

#[test]
fn it_reads_as_sentences() {
    insta::assert_snapshot!(waiting().lines(0).join("\n"), @r"
    lab/train on account physics: there is room for 1 of the 4 Pods that start together: of 12 nodes 9 have no cards of the size asked for left, 3 are cordoned
    7 are ahead of it in its account: lab/a, lab/b, …; the account has 50 % of its part, and these have less: chemistry
    waits for lab/old (2 Pods), which ends in at most 10 min
    waits for lab/endless (1 Pod), which does not say when it ends
    starts in about 10 min
    nodes are held for it
    ");
}

#[test]
fn it_says_whether_a_deadline_can_be_kept() {
    let said = |chance| {
        let outlook = Some(Outlook { at: 1_200_000, chance });
        let explanation = Explanation { deadline: outlook, nodes: None, queue: None, ..waiting() };
        let lines = explanation.lines(0);
        let line = lines.iter().find(|line| line.starts_with("its deadline")).cloned().unwrap();
        format!("{}\n{line}", explanation.summary())
    };
    let all = [Chance::Unknown, Chance::Kept, Chance::CutShort, Chance::Missed].map(said);
    insta::assert_snapshot!(all.join("\n"), @r"
    there is room for 1 of the 4 Pods that start together
    its deadline is in 20 min: whether it can be kept nobody can say
    there is room for 1 of the 4 Pods that start together
    its deadline is in 20 min: it will be kept
    there is room for 1 of the 4 Pods that start together; its deadline comes before its longest run is over, and stops it then
    its deadline is in 20 min: give it a later one if it must run whole
    there is room for 1 of the 4 Pods that start together; it will not start before its deadline
    its deadline is in 20 min: give it a later one if it must run whole
    ");
}

#[test]
fn sentences_agree_in_number() {
    let kept = |used: &str, cap: &str| {
        let (used, cap) = (used.to_owned(), cap.to_owned());
        let amount = Amount { resource: "nvidia.com/gpu".to_owned(), used, asked: "2".to_owned(), cap };
        State::Limited { limit: LimitReached::KeptForOthers { amount } }
    };
    let states = [
        State::Placed { pods: 1 },
        State::Placed { pods: 2 },
        State::Unknown,
        State::WaitsForPods { have: 0, need: 1, task: None },
        State::WaitsForPods { have: 0, need: 1, task: Some("ps".to_owned()) },
        State::WaitsForPods { have: 1, need: 2, task: None },
        State::WaitsForPods { have: 2, need: 3, task: Some("worker".to_owned()) },
        State::NoRoom { pods: 1, fit: None },
        State::NoRoom { pods: 2, fit: None },
        State::NoRoom { pods: 2, fit: Some(1) },
        State::NeverFits { pods: 1 },
        State::NeverFits { pods: 2 },
        State::MakingRoom { leaving: 1 },
        State::MakingRoom { leaving: 2 },
        kept("1", "1"),
        kept("1", "2"),
        kept("2", "8"),
    ];
    insta::assert_snapshot!(states.map(|state| state.to_string()).join("\n"));
}

#[test]
fn nodes_and_those_ahead_agree_in_number() {
    let with = |total, removed: &[(usize, &str)], ahead| {
        let mut one = waiting();
        let removed = removed.iter().map(|(nodes, why)| Removed { nodes: *nodes, why: (*why).to_owned() });
        one.nodes = Some(Nodes { total, removed: removed.collect() });
        one.queue =
            Some(Position { ahead, first: vec!["lab/a".to_owned()], share: 1.0, accounts: Vec::new() });
        one.must_end.clear();
        one.lines(0).join("\n")
    };
    let some = [
        with(0, &[], 0),
        with(1, &[(1, "is cordoned")], 1),
        with(3, &[(2, "are cordoned"), (1, "has too little cpu left")], 2),
    ];
    insta::assert_snapshot!(some.join("\n\n"));
}

#[test]
fn limits_say_whose_and_how_much() {
    let amount = Amount {
        resource: "nvidia.com/gpu".to_owned(),
        used: "7.5".to_owned(),
        asked: "2".to_owned(),
        cap: "8".to_owned(),
    };
    let limit = LimitReached::Capability { account: "physics".to_owned(), amount: amount.clone() };
    let state = State::Limited { limit };
    assert_eq!(
        state.to_string(),
        "account physics may have at most 8 nvidia.com/gpu, has 7.5, and this asks for 2"
    );
    let kept = LimitReached::KeptForOthers { amount };
    assert_eq!(
        kept.to_string(),
        "8 nvidia.com/gpu are free, 7.5 of them are guaranteed to other accounts, and it asks for 2"
    );
}

#[test]
fn it_survives_the_wire() {
    let there = serde_json::to_string(&waiting()).unwrap();
    let back: Explanation = serde_json::from_str(&there).unwrap();
    assert_eq!(back, waiting());
}
