import { Button, Group, Menu, NumberInput, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconDots,
  IconPlayerPause,
  IconPlayerPlay,
  IconShieldCheck,
  IconTerminal2,
  IconTrash,
} from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { WorkspaceDetail } from "../api/types";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";
import { formatAmount } from "../ui/format";
import { useAction } from "../ui/useAction";

interface Props {
  workspace: WorkspaceDetail;
  onTerminal: () => void;
}

function useActions(workspace: WorkspaceDetail) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const params = { path: { namespace: workspace.namespace, name: workspace.name } };
  const changes = [
    ["workspaces", "list"],
    ["workspaces", "one", workspace.namespace, workspace.name],
  ];
  return {
    suspend: useAction({
      run: () => client.POST("/api/v1/workspaces/{namespace}/{name}/suspend", { params }),
      done: t("workspaces.suspended"),
      changes,
    }),
    resume: useAction({
      run: () => client.POST("/api/v1/workspaces/{namespace}/{name}/resume", { params }),
      done: t("workspaces.resumed"),
      changes,
    }),
    protect: useAction({
      run: (hours: number) =>
        client.PUT("/api/v1/workspaces/{namespace}/{name}/protection", { params, body: { hours } }),
      done: t("workspaces.protected"),
      changes,
    }),
    remove: useAction({
      run: () => client.DELETE("/api/v1/workspaces/{namespace}/{name}", { params }),
      done: t("workspaces.deleted", { name: workspace.name }),
      changes: [["workspaces", "list"]],
      onDone: () => void navigate({ to: "/workspaces" }),
    }),
  };
}

/** What goes with a workspace when it is deleted. */
function useLost(workspace: WorkspaceDetail): string[] {
  const { t } = useTranslation();
  const volumes = workspace.spec?.volumes ?? [];
  return [
    t("workspaces.lostPod"),
    ...volumes.map((one) =>
      t("workspaces.lostVolume", {
        name: one.name,
        size: formatAmount("memory", one.size as string),
        path: one.path,
      }),
    ),
  ];
}

export function Actions({ workspace, onTerminal }: Props) {
  const { t } = useTranslation();
  const { suspend, resume, protect, remove } = useActions(workspace);
  const [deleting, deletion] = useDisclosure();
  const [suspending, suspension] = useDisclosure();
  const [protecting, protection] = useDisclosure();
  const lost = useLost(workspace);
  const stopped = workspace.state === "Suspended";
  return (
    <Group gap="xs">
      {workspace.phase === "Running" && (
        <Button leftSection={<IconTerminal2 size={18} />} onClick={onTerminal}>
          {t("workspaces.openTerminal")}
        </Button>
      )}
      {stopped ? (
        <Button
          variant="default"
          leftSection={<IconPlayerPlay size={18} />}
          loading={resume.isPending}
          onClick={() => resume.mutate()}
        >
          {t("actions.resume")}
        </Button>
      ) : (
        <Button variant="default" leftSection={<IconPlayerPause size={18} />} onClick={suspension.open}>
          {t("actions.suspend")}
        </Button>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" aria-label={t("actions.others")} px="xs">
            <IconDots size={18} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconShieldCheck size={16} />} onClick={protection.open}>
            {t("workspaces.protect")}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={deletion.open}>
            {t("actions.delete")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        opened={suspending}
        onClose={suspension.close}
        onConfirm={() => suspend.mutate(undefined, { onSuccess: suspension.close })}
        busy={suspend.isPending}
        title={t("workspaces.suspendTitle", { name: workspace.name })}
        confirm={t("actions.suspend")}
      >
        {t("workspaces.suspendText")}
      </Confirm>
      <Confirm
        opened={deleting}
        onClose={deletion.close}
        onConfirm={() => remove.mutate()}
        busy={remove.isPending}
        danger
        title={t("workspaces.deleteTitle", { name: workspace.name })}
        lost={lost}
        confirm={t("actions.delete")}
      />
      <Protect
        opened={protecting}
        onClose={protection.close}
        busy={protect.isPending}
        onSave={(hours) => protect.mutate(hours, { onSuccess: protection.close })}
      />
    </Group>
  );
}

interface ProtectProps {
  opened: boolean;
  onClose: () => void;
  onSave: (hours: number) => void;
  busy: boolean;
}

function Protect({ opened, onClose, onSave, busy }: ProtectProps) {
  const { t } = useTranslation();
  const [hours, setHours] = useState<number | string>(24);
  return (
    <Dialog opened={opened} onClose={onClose} title={t("workspaces.protect")}>
      <Stack>
        <Text size="sm">{t("workspaces.protectText")}</Text>
        <NumberInput
          label={t("workspaces.protectHours")}
          value={hours}
          onChange={setHours}
          min={0}
          allowDecimal={false}
          data-autofocus
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("actions.back")}
          </Button>
          <Button loading={busy} disabled={hours === ""} onClick={() => onSave(Number(hours))}>
            {t("actions.save")}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
