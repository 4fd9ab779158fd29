import { Button, Group, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconShieldCheck, IconTerminal2 } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { OpenProgram } from "../access/OpenProgram";
import type { WorkspaceDetail } from "../api/types";
import { useMe } from "../app/session";
import { Dialog } from "../ui/Dialog";
import { formatAmount } from "../ui/format";
import { MoreActions, SuspendOrResume } from "../work/actions";
import { ProtectForm } from "./ProtectForm";

interface Props {
  workspace: WorkspaceDetail;
  onTerminal: () => void;
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
  const [protecting, protection] = useDisclosure();
  const lost = useLost(workspace);
  // Nobody is inside the work of others, whoever he is.
  const mine = useMe().namespace === workspace.namespace;
  return (
    <Group gap="xs">
      {workspace.phase === "Running" && (
        <>
          <OpenProgram kind="workspaces" work={workspace} />
          {mine && (
            <Button
              variant={workspace.type === "Terminal" ? "filled" : "default"}
              leftSection={<IconTerminal2 size={18} />}
              onClick={onTerminal}
            >
              {t("workspaces.openTerminal")}
            </Button>
          )}
        </>
      )}
      <SuspendOrResume
        kind="workspaces"
        work={workspace}
        stopped={workspace.state === "Suspended"}
        warning={t("workspaces.suspendText")}
      />
      <MoreActions kind="workspaces" work={workspace} lost={lost}>
        <Menu.Item leftSection={<IconShieldCheck size={16} />} onClick={protection.open}>
          {t("workspaces.protect")}
        </Menu.Item>
      </MoreActions>
      <Dialog opened={protecting} onClose={protection.close} title={t("workspaces.protect")}>
        <ProtectForm workspace={workspace} onClose={protection.close} />
      </Dialog>
    </Group>
  );
}
