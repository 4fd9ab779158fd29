import { Button, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDeviceLaptop, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { KubeconfigOffer, KubeconfigView } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { EndTable } from "../ui/EndTable";
import { Facts } from "../ui/Facts";
import { Once } from "../ui/Once";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
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
        {/* It may hold a private key, which nobody keeps but its owner. */}
        {made && (
          <Once
            warning={t("kubeconfig.once")}
            text={made.kubeconfig}
            file={`kubeconfig-${made.device}.yaml`}
            onKept={() => setMade(undefined)}
          />
        )}
      </Dialog>
    </Stack>
  );
}

function List({ items }: { items: KubeconfigView[] }) {
  const { t } = useTranslation();
  return (
    <EndTable
      label={t("kubeconfig.devices")}
      items={items}
      columns={[
        [t("kubeconfig.device"), (one) => one.device],
        [t("kubeconfig.mode"), (one) => t(`kubeconfig.modes.${one.mode}`)],
        [t("fields.created"), (one) => <When at={one.created} />],
      ]}
      end={(one) => ({
        label: t("keys.revoke"),
        title: t("kubeconfig.revokeTitle", { device: one.device }),
        children: t("kubeconfig.revokeText"),
        run: () => client.DELETE("/api/v1/kubeconfigs/{id}", { params: { path: { id: one.id } } }),
        done: t("kubeconfig.revoked"),
        changes: [["kubeconfigs"]],
      })}
    />
  );
}
