import { Button, Group, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBan, IconCopy, IconDots, IconPlayerPause, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { JobDetail } from "../api/types";
import { Confirm } from "../ui/Confirm";
import { useAction } from "../ui/useAction";

const over = ["Completed", "Failed", "Aborted"];

function useActions(job: JobDetail) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const params = { path: { namespace: job.namespace, name: job.name } };
  const changes = [
    ["jobs", "list"],
    ["jobs", "one", job.namespace, job.name],
  ];
  return {
    suspend: useAction({
      run: () => client.POST("/api/v1/jobs/{namespace}/{name}/suspend", { params }),
      done: t("jobs.suspended"),
      changes,
    }),
    resume: useAction({
      run: () => client.POST("/api/v1/jobs/{namespace}/{name}/resume", { params }),
      done: t("jobs.resumed"),
      changes,
    }),
    cancel: useAction({
      run: () => client.POST("/api/v1/jobs/{namespace}/{name}/cancel", { params }),
      done: t("jobs.cancelled"),
      changes,
    }),
    remove: useAction({
      run: () => client.DELETE("/api/v1/jobs/{namespace}/{name}", { params }),
      done: t("jobs.deleted", { name: job.name }),
      changes: [["jobs", "list"]],
      onDone: () => void navigate({ to: "/jobs" }),
    }),
  };
}

export function Actions({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const { suspend, resume, cancel, remove } = useActions(job);
  const [cancelling, cancellation] = useDisclosure();
  const [deleting, deletion] = useDisclosure();
  const ended = over.includes(job.phase);
  return (
    <Group gap="xs">
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
      {!ended &&
        (job.suspended ? (
          <Button
            leftSection={<IconPlayerPlay size={18} />}
            loading={resume.isPending}
            onClick={() => resume.mutate()}
          >
            {t("actions.resume")}
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconPlayerPause size={18} />}
            loading={suspend.isPending}
            onClick={() => suspend.mutate()}
          >
            {t("actions.suspend")}
          </Button>
        ))}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px="xs" aria-label={t("actions.others")}>
            <IconDots size={18} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {!ended && (
            <Menu.Item color="red" leftSection={<IconBan size={16} />} onClick={cancellation.open}>
              {t("jobs.cancel")}
            </Menu.Item>
          )}
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={deletion.open}>
            {t("actions.delete")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        opened={cancelling}
        onClose={cancellation.close}
        onConfirm={() => cancel.mutate(undefined, { onSuccess: cancellation.close })}
        busy={cancel.isPending}
        danger
        title={t("jobs.cancelTitle", { name: job.name })}
        lost={[t("jobs.lostRun")]}
        confirm={t("jobs.cancel")}
      >
        {t("jobs.cancelText")}
      </Confirm>
      <Confirm
        opened={deleting}
        onClose={deletion.close}
        onConfirm={() => remove.mutate()}
        busy={remove.isPending}
        danger
        title={t("jobs.deleteTitle", { name: job.name })}
        lost={[t("jobs.lostPods", { count: job.pods.length }), t("jobs.lostRecord")]}
        confirm={t("actions.delete")}
      />
    </Group>
  );
}
