import { Alert, Button, Code, Group, Stack, Table } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertTriangle, IconDeviceLaptop, IconDownload, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { KubeconfigOffer, KubeconfigView } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { EndButton } from "../ui/EndButton";
import { Facts } from "../ui/Facts";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { CopyText, saveFile } from "../ui/TextView";
import { When } from "../ui/When";
import { Command } from "./Command";
import { type MadeKubeconfig, NewKubeconfig } from "./NewKubeconfig";
import { kubeconfigQuery, kubeconfigsQuery } from "./offer";

/** kubectl for one's own namespace: one kubeconfig per device, each of which can be ended. */
export function KubeconfigPanel() {
  return <Loaded query={useQuery(kubeconfigQuery)}>{(offer) => <Devices offer={offer} />}</Loaded>;
}

function Devices({ offer }: { offer: KubeconfigOffer }) {
  const { t } = useTranslation();
  const [opened, modal] = useDisclosure();
  const [made, setMade] = useState<MadeKubeconfig>();
  return (
    <Stack gap="lg">
      <Panel
        title={t("kubeconfig.devices")}
        beside={
          <Button size="xs" leftSection={<IconPlus size={14} />} onClick={modal.open}>
            {t("kubeconfig.new")}
          </Button>
        }
      >
        <Loaded query={useQuery(kubeconfigsQuery)}>
          {({ items }) => {
            const valid = items.filter((one) => !one.revoked);
            return valid.length === 0 ? (
              <Empty icon={IconDeviceLaptop} title={t("kubeconfig.none")}>
                {t("kubeconfig.noneText")}
              </Empty>
            ) : (
              <List items={valid} />
            );
          }}
        </Loaded>
      </Panel>
      <Panel title={t("kubeconfig.where")}>
        <Stack>
          <Facts
            facts={[
              [t("kubeconfig.server"), offer.server],
              [t("settings.namespace"), offer.namespace],
            ]}
          />
          <Command title={t("kubeconfig.write")} text="maar kubeconfig write" />
        </Stack>
      </Panel>
      <Dialog opened={opened} onClose={modal.close} title={t("kubeconfig.new")}>
        <NewKubeconfig
          offer={offer}
          onMade={(kubeconfig) => {
            modal.close();
            setMade(kubeconfig);
          }}
        />
      </Dialog>
      <Dialog
        opened={made !== undefined}
        onClose={() => setMade(undefined)}
        title={t("kubeconfig.made")}
        size="lg"
        closeOnClickOutside={false}
      >
        {made && <Made made={made} onKept={() => setMade(undefined)} />}
      </Dialog>
    </Stack>
  );
}

/** A kubeconfig may hold a private key, which nobody keeps but its owner: it is shown this once. */
function Made({ made, onKept }: { made: MadeKubeconfig; onKept: () => void }) {
  const { t } = useTranslation();
  return (
    <Stack>
      <Alert color="yellow" icon={<IconAlertTriangle size={18} />}>
        {t("kubeconfig.once")}
      </Alert>
      <Code block mah={320} style={{ overflow: "auto" }} tabIndex={0}>
        {made.kubeconfig}
      </Code>
      <Group justify="space-between">
        <Group gap="xs">
          <Button
            size="xs"
            leftSection={<IconDownload size={14} />}
            onClick={() =>
              saveFile(`kubeconfig-${made.device.replace(/[^\w.-]+/g, "-")}.yaml`, made.kubeconfig)
            }
          >
            {t("actions.download")}
          </Button>
          <CopyText text={made.kubeconfig} />
        </Group>
        <Button variant="default" onClick={onKept}>
          {t("keys.kept")}
        </Button>
      </Group>
    </Stack>
  );
}

function List({ items }: { items: KubeconfigView[] }) {
  const { t } = useTranslation();
  return (
    <Rows
      label={t("kubeconfig.devices")}
      heads={[t("kubeconfig.device"), t("kubeconfig.mode"), t("fields.created"), t("keys.expires"), ""]}
    >
      {items.map((one) => (
        <Table.Tr key={one.id}>
          <Table.Td fw={600}>{one.device}</Table.Td>
          <Table.Td>{t(`kubeconfig.modes.${one.mode}`)}</Table.Td>
          <Table.Td>
            <When at={one.created} />
          </Table.Td>
          <Table.Td>
            <When at={one.expires} none={t("keys.never")} />
          </Table.Td>
          <Table.Td>
            <EndButton
              label={t("keys.revoke")}
              title={t("kubeconfig.revokeTitle", { device: one.device })}
              run={() => client.DELETE("/api/v1/kubeconfigs/{id}", { params: { path: { id: one.id } } })}
              done={t("kubeconfig.revoked")}
              changes={[["kubeconfigs"]]}
            >
              {t("kubeconfig.revokeText")}
            </EndButton>
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
