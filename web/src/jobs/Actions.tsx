import { Button, Group, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBan, IconCopy } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { OpenProgram } from "../access/OpenProgram";
import { client } from "../api/client";
import type { JobDetail } from "../api/types";
import { Confirm } from "../ui/Confirm";
import { useAction } from "../ui/useAction";
import { changesOf, MoreActions, SuspendOrResume } from "../work/actions";

const over = ["Completed", "Failed", "Aborted"];

export function Actions({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [cancelling, cancellation] = useDisclosure();
  const cancel = useAction({
    run: () =>
      client.POST("/api/v1/jobs/{namespace}/{name}/cancel", {
        params: { path: { namespace: job.namespace, name: job.name } },
      }),
    done: t("jobs.cancelled"),
    changes: changesOf({ kind: "jobs", work: job }),
    onDone: cancellation.close,
  });
  const ended = over.includes(job.phase);
  return (
    <Group gap="xs">
      {job.phase === "Running" && <OpenProgram kind="jobs" work={job} />}
      {job.spec && (
        <Button
          component={Link}
          to="/jobs/new"
          search={{ clone: `${job.namespace}/${job.name}` } as never}
          variant="default"
          leftSection={<IconCopy size={18} />}
        >
          {t("jobs.clone")}
        </Button>
      )}
      {!ended && <SuspendOrResume kind="jobs" work={job} stopped={job.suspended} />}
      <MoreActions
        kind="jobs"
        work={job}
        lost={[t("jobs.lostPods", { count: job.podCount ?? job.pods.length }), t("jobs.lostRecord")]}
      >
        {!ended && (
          <Menu.Item color="red" leftSection={<IconBan size={16} />} onClick={cancellation.open}>
            {t("jobs.cancel")}
          </Menu.Item>
        )}
      </MoreActions>
      <Confirm
        opened={cancelling}
        onClose={cancellation.close}
        onConfirm={() => cancel.mutate()}
        busy={cancel.isPending}
        danger
        title={t("jobs.cancelTitle", { name: job.name })}
        lost={[t("jobs.lostRun")]}
        confirm={t("jobs.cancel")}
      >
        {t("jobs.cancelText")}
      </Confirm>
    </Group>
  );
}
