use super::*;

fn error_of(text: &str) -> String {
    Profile::parse(text).expect_err("the profile is bad").to_string()
}

/// A minimal pool with `extra` lines.
fn with(extra: &str) -> String {
    format!("pools:\n  - name: a\n    count: 1\n    cpu: 4\n    memory: 8Gi\n{extra}")
}

#[test]
fn the_built_in_profile_has_pools_of_different_kinds() {
    let profile = Profile::built_in();
    assert_eq!(profile.total(), 14);
    let offers = |pool: &str, resource: &str| {
        let pool = profile.pools.iter().find(|candidate| candidate.name == pool).unwrap();
        pool.allocatable.get(resource).value() * i64::from(pool.count)
    };
    assert_eq!(offers("a100", "nvidia.com/gpu"), 32);
    assert_eq!(offers("h100", "nvidia.com/gpu"), 32);
    assert_eq!(offers("ascend910", "huawei.com/Ascend910"), 16);
    assert_eq!(offers("t4", "nvidia.com/gpu.shared"), 32);
    assert_eq!(offers("cpu", "cpu"), 62);
}

#[test]
fn a_minimal_pool_gets_sensible_defaults() {
    let profile = Profile::parse(&with("")).unwrap();
    let pool = &profile.pools[0];
    assert_eq!(pool.node_name(7), "a-7");
    assert_eq!(pool.capacity.get("pods").value(), 110);
    assert_eq!(pool.capacity, pool.allocatable);
    assert_eq!(pool.architecture, "amd64");
    assert_eq!(profile.start_delay, Duration::from_secs(1));
}

#[test]
fn what_is_reserved_is_not_offered() {
    let profile = Profile::parse(&with("    reserved: {cpu: 500m}\n")).unwrap();
    assert_eq!(profile.pools[0].capacity.get("cpu").to_string(), "4");
    assert_eq!(profile.pools[0].allocatable.get("cpu").to_string(), "3500m");
}

#[test]
fn errors_name_the_field_and_what_it_allows() {
    let cards = "    cards: {resource: nvidia.com/gpu, count: 8, vendor: nvidia, model: X, memory: 1Gi}\n";
    let rows = [
        (with("    cpus: 3\n"), "cpus"),
        (
            with("    cards: {resource: gpu, count: 1, vendor: nvidia, model: X, memory: 1Gi}\n"),
            "pools[0].cards.resource: \"gpu\"",
        ),
        (
            with("    cards: {resource: a.b/c, count: 0, vendor: nvidia, model: X, memory: 1Gi}\n"),
            "pools[0].cards.count: \"0\"",
        ),
        (with("    cards: {resource: a.b/c, count: 1, vendor: intel, model: X, memory: 1Gi}\n"), "nvidia"),
        (with(&format!("    resources: {{nvidia.com/gpu: 4}}\n{cards}")), "pools[0].cards.resource"),
        (with("    resources: {rdma/hca: 500m}\n"), "pools[0].resources[rdma/hca]"),
        (with("    resources: {cpu: 3}\n"), "pools[0].resources[cpu]"),
        (with("    reserved: {gold: 1}\n"), "use one of cpu, ephemeral-storage, memory, pods"),
        (with("    reserved: {cpu: 5}\n"), "use at most 4"),
        (with("    labels: {\"a b\": c}\n"), "pools[0].labels[a b]"),
        (with("    taints: [{key: a, effect: Never}]\n"), "NoSchedule"),
        (with("    ephemeralStorage: lots\n"), "pools[0].ephemeralStorage: \"lots\""),
        (with("    nodesPerRack: 0\n"), "pools[0].nodesPerRack"),
        (with("    namePrefix: Upper-\n"), "pools[0].namePrefix"),
        (with("  - {name: a, count: 1, cpu: 1, memory: 1Gi, namePrefix: b-}\n"), "pools[1].name"),
        (with("  - {name: b, count: 1, cpu: 1, memory: 1Gi, namePrefix: a-1}\n"), "pools[1].namePrefix"),
        (format!("heartbeat: soon\n{}", with("")), "heartbeat: \"soon\""),
        (format!("events: some\n{}", with("")), "events"),
        (format!("heartbeat: 5m\n{}", with("")), "between 1s and 30s"),
        ("pools: [{name: a}]".into(), "count"),
        ("[]".into(), "cannot be read"),
    ];
    for (text, want) in rows {
        let error = error_of(&text);
        assert!(error.contains(want), "want {want:?} in {error:?} for\n{text}");
    }
}

#[test]
fn a_total_keeps_the_proportions() {
    let profile = Profile::built_in().with_total(1400);
    assert_eq!(profile.total(), 1400);
    assert_eq!(profile.pools[0].count, 400);
}
