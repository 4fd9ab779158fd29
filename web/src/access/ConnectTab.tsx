// Ways into a workspace or a job from one's own machine: SSH, editors, and the programs that listen in it.
import { Alert, Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { IconBrandVscode, IconInfoCircle, IconPlugConnected } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { SshGateway } from "../api/types";
import { useMe } from "../app/session";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { Command } from "./Command";
import { isOffered, sshKeysQuery, sshQuery } from "./offer";
import { PortsPanel } from "./PortsPanel";
import { type Behind, readerOf } from "./ports";
import { HostKeys } from "./SshPanel";
import { codeLink, copyCommand, folderOf, gatewayLink, loginOf, sshCommand } from "./ssh";

export function ConnectTab(behind: Behind) {
  const { t } = useTranslation();
  const me = useMe();
  const { kind, work } = behind;
  // Jobs are not entered by SSH.
  const ssh = useQuery({ ...sshQuery, enabled: kind === "workspaces" });
  const reader = readerOf(me, work);
  const running = work.phase === "Running";
  return (
    <Stack gap="lg">
      {!running && (
        <Empty icon={IconPlugConnected} title={t("connect.notRunning")}>
          {t("connect.notRunningText")}
        </Empty>
      )}
      <PortsPanel behind={behind} reader={reader} />
      {/* To be inside is for the owner alone. */}
      {kind === "workspaces" && running && reader.own && isOffered(ssh) !== false && (
        <Panel title={t("connect.ssh")}>
          <Loaded query={ssh} rows={2}>
            {(gateway) => (
              <Ssh
                gateway={gateway}
                login={loginOf(work, me.namespace)}
                folder={folderOf(work.spec as never)}
              />
            )}
          </Loaded>
        </Panel>
      )}
    </Stack>
  );
}

function Ssh({ gateway, login, folder }: { gateway: SshGateway; login: string; folder: string }) {
  const { t } = useTranslation();
  const keys = useQuery(sshKeysQuery);
  return (
    <Stack>
      {keys.data?.items.length === 0 && (
        <Alert color="yellow" icon={<IconInfoCircle size={18} />}>
          {t("connect.noKey")}{" "}
          <Anchor component={Link} to="/settings" search={{ tab: "ssh" } as never} inherit>
            {t("connect.addKey")}
          </Anchor>
        </Alert>
      )}
      <Command title={t("connect.shell")} text={sshCommand(gateway, login)} />
      <Command title={t("connect.copy")} text={copyCommand(gateway, login)} />
      <div>
        <Text size="sm" c="dimmed" mb={4}>
          {t("connect.editors")}
        </Text>
        <Group gap="xs">
          <Button
            component="a"
            href={codeLink(gateway, login, folder)}
            variant="default"
            leftSection={<IconBrandVscode size={18} />}
          >
            VS Code
          </Button>
          <Button component="a" href={gatewayLink(gateway, login, folder)} variant="default">
            JetBrains Gateway
          </Button>
        </Group>
      </div>
      <HostKeys gateway={gateway} />
    </Stack>
  );
}
