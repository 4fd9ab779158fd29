import { Button, Code, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { SshGateway, SshKey } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { EndTable } from "../ui/EndTable";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { When } from "../ui/When";
import { Command } from "./Command";
import { NewSshKey } from "./NewSshKey";
import { sshKeysQuery, sshQuery } from "./offer";
import { sshCommand } from "./ssh";

/** Public keys that open one's workspaces, and what they open them with. */
export function SshPanel() {
  const { t } = useTranslation();
  const [opened, modal] = useDisclosure();
  return (
    <Stack gap="lg">
      <Panel
        title={t("ssh.keys")}
        beside={
          <Button size="xs" leftSection={<IconPlus size={14} />} onClick={modal.open}>
            {t("ssh.add")}
          </Button>
        }
      >
        <Loaded query={useQuery(sshKeysQuery)}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty icon={IconKey} title={t("ssh.none")}>
                {t("ssh.noneText")}
              </Empty>
            ) : (
              <Keys items={items} />
            )
          }
        </Loaded>
      </Panel>
      <Loaded query={useQuery(sshQuery)}>{(gateway) => <How gateway={gateway} />}</Loaded>
      <Dialog opened={opened} onClose={modal.close} title={t("ssh.add")} size="lg">
        <NewSshKey onDone={modal.close} />
      </Dialog>
    </Stack>
  );
}

function Keys({ items }: { items: SshKey[] }) {
  const { t } = useTranslation();
  return (
    <EndTable
      label={t("ssh.keys")}
      items={items}
      columns={[
        [t("ssh.title"), (one) => one.title],
        [t("ssh.fingerprint"), (one) => <Fingerprint of={one} />],
        [t("keys.lastUsed"), (one) => <When at={one.lastUsed} none={t("keys.never")} />],
      ]}
      end={(one) => ({
        label: t("actions.remove"),
        title: t("ssh.removeTitle", { title: one.title }),
        children: t("ssh.removeText"),
        run: () => client.DELETE("/api/v1/ssh-keys/{id}", { params: { path: { id: one.id } } }),
        done: t("ssh.removed"),
        changes: [["ssh-keys"]],
      })}
    />
  );
}

function Fingerprint({ of }: { of: SshKey }) {
  return (
    <>
      <Text size="xs">{of.kind}</Text>
      <Code>{of.fingerprint}</Code>
    </>
  );
}

function How({ gateway }: { gateway: SshGateway }) {
  const { t } = useTranslation();
  return (
    <Panel title={t("ssh.how")}>
      <Stack>
        <Command title={t("ssh.byKey")} text={sshCommand(gateway, t("ssh.workspace"))} />
        <Command title={t("ssh.byCertificate")} text={`maar ssh ${t("ssh.workspace")}`} />
        <Command title={t("ssh.config")} text="maar ssh-config --write" />
        <HostKeys gateway={gateway} />
      </Stack>
    </Panel>
  );
}

/** What SSH shows at the first connection, to compare. */
export function HostKeys({ gateway }: { gateway: SshGateway }) {
  const { t } = useTranslation();
  return (
    <div>
      <Text size="sm" c="dimmed" mb={4}>
        {t("ssh.hostKeys")}
      </Text>
      {gateway.fingerprints.map((one) => (
        <Code key={one} block>
          {one}
        </Code>
      ))}
    </div>
  );
}
