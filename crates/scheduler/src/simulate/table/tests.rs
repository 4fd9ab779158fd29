use super::*;

const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\n";

fn read_pods(pods: &str) -> Result<Trace, TableError> {
    read(File { name: "nodes.csv", text: NODES }, File { name: "pods.csv", text: pods })
}

#[test]
fn a_trace_is_read_as_openb_has_it() {
    let trace = read_pods(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
         late,4000,1024,8,1000,,LS,Running,100,,\n\
         early,6000,12288,1,460,V100M16|V100M32,BE,Running,10,70,20.0\n",
    )
    .unwrap();
    assert_eq!(trace.card_capacity(), 2000);
    assert_eq!(trace.nodes[0].labels["model"], "P100");
    let [early, late] = trace.pods.as_slice() else { panic!("two Pods") };
    assert_eq!((&*early.name, early.arrives, early.runs), ("early", 10_000, Some(50_000)));
    assert_eq!(early.level, ServiceLevel::BestEffort);
    assert_eq!(early.shape.node_terms[0].labels[0].values, ["V100M16", "V100M32"]);
    assert_eq!((early.cards(), late.cards(), late.runs), (460, 8000, None));
}

#[test]
fn mistakes_are_named_with_file_line_column_and_what_is_allowed() {
    let head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    for (pods, want) in [
        (
            "",
            "pods.csv is empty; its first line must name the columns name, cpu_milli, memory_mib, num_gpu, gpu_milli",
        ),
        (
            "name,cpu_milli,memory_mib,num_gpu\n",
            "pods.csv line 1: column gpu_milli is missing; needed are name, cpu_milli, memory_mib, num_gpu, gpu_milli",
        ),
        (&format!("{head}a,1,1,1\n"), "pods.csv line 2: 4 cells, but 5 columns"),
        (
            &format!("{head}a,1,1,0,0\n\nb,many,1,0,0\n"),
            "pods.csv line 4, column cpu_milli: \"many\" is not allowed; it must be a whole number from 0 to 8796093022207",
        ),
        (
            &format!("{head}a,1,1,1,1001\n"),
            "pods.csv line 2, column gpu_milli: \"1001\" is not allowed; it must be a whole number from 1 to 1000",
        ),
        (
            &format!("{head}a,1,1,2,500\n"),
            "pods.csv line 2, column gpu_milli: \"500\" is not allowed; it must be 1000, as more than one card is asked for",
        ),
        (
            &format!("{head},1,1,0,0\n"),
            "pods.csv line 2, column name: \"\" is not allowed; it must be a name",
        ),
    ] {
        assert_eq!(read_pods(pods).unwrap_err().to_string(), want);
    }
    let unknown = read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli,colour\n").unwrap_err().to_string();
    assert!(
        unknown.starts_with("pods.csv line 1: column \"colour\" is not known; allowed are name, "),
        "{unknown}"
    );
}

#[test]
fn cells_in_quotes_may_hold_commas() {
    let trace = read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n\"a, \"\"b\"\"\",1,1,0,0\n").unwrap();
    assert_eq!(&*trace.pods[0].name, "a, \"b\"");
}

#[test]
fn two_nodes_of_one_name_are_a_mistake() {
    let nodes = format!("{NODES}n2,1,1,0,\nn1,64000,262144,2,P100\n");
    let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    let found = read(File { name: "nodes.csv", text: &nodes }, File { name: "pods.csv", text: pods });
    assert_eq!(
        found.unwrap_err().to_string(),
        "nodes.csv line 4, column sn: \"n1\" is not allowed; it must be a name that no line above has"
    );
}
