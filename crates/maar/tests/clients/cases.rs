//! The table of cases.

mod apply;
mod auth;
mod change;
mod cluster;
mod create;
mod delete;
mod describe;
mod explain;
mod get;
mod local;
mod logs;
mod rollout;
mod wait;

use crate::suite::Case;

macro_rules! cases {
    ($local:literal: $($module:ident { $($name:ident)+ })+) => {
        vec![$($(Case {
            name: concat!(stringify!($module), " ", stringify!($name)),
            needs_local_node: $local,
            run: |kubectl| Box::pin($module::$name(kubectl)),
        },)+)+]
    };
}

/// Every case, the slow ones first.
pub(crate) fn all() -> Vec<Case> {
    let mut all = cases! { true:
        local {
            logs_are_followed exec_runs_a_command exec_gives_a_terminal attach_joins_a_process
            files_are_copied_both_ways ports_are_forwarded run_stays_attached
            proxies_reach_pods_services_and_nodes kubectl_proxy_serves_a_browser proxies_pass_upgrades_on
        }
    };
    all.extend(cases! { false:
        rollout { status_and_history undo restart pause_and_resume stateful_and_daemon_sets }
        change {
            patch_in_three_ways patch_of_a_subresource label_and_annotate taint cordon_drain_uncordon scale
            autoscale_is_refused set_image_env_and_resources
        }
        apply {
            three_way_merge server_side conflicts_and_force prune diff edit kustomize strict_validation
            custom_resources replace dry_run last_applied
        }
        create {
            from_files deployment config_map secret job_and_cron_job namespace quota_and_limits roles services
            service_account_and_token ingress_budget_and_priority generated_names expose
        }
        get {
            wide forms columns selectors across_namespaces watch pages what_is_not_there raw scale_of_a_deployment
        }
        describe { pod node workloads network storage policy identity }
        delete { at_once cascade_foreground cascade_orphan by_label by_file namespace_with_everything }
        logs { of_a_pod followed of_a_run_before of_a_job exec_on_a_simulated_node }
        wait { for_a_condition for_a_field for_deletion }
        explain { fields deep_paths recursive custom_resources by_version_and_old_form unknown_fields }
        auth { can_i can_i_list as_somebody_else who_am_i certificates tokens }
        cluster { resources_and_versions info_and_version top events config }
    });
    all
}
