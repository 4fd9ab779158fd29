import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { Dialog } from "../ui/Dialog";
import { Once } from "../ui/Once";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { KeyTable } from "./KeyTable";
import { NewKey } from "./NewKey";

/** Keys for programs. A secret is shown once, and never again. */
export function KeysPanel() {
  const { t } = useTranslation();
  const [opened, modal] = useDisclosure();
  const [secret, setSecret] = useState<string>();
  const query = useQuery({
    queryKey: ["keys"],
    queryFn: () => take(client.GET("/api/v1/me/keys", { params: { query: { limit: 500 } } })),
  });
  return (
    <Panel
      title={t("keys.title")}
      beside={
        <Button size="xs" leftSection={<IconPlus size={14} />} onClick={modal.open}>
          {t("keys.new")}
        </Button>
      }
    >
      <Loaded query={query}>
        {({ items }) => {
          const valid = items.filter((one) => !one.revoked);
          return valid.length === 0 ? (
            <Empty icon={IconKey} title={t("keys.none")}>
              {t("keys.noneText")}
            </Empty>
          ) : (
            <KeyTable items={valid} />
          );
        }}
      </Loaded>
      <Dialog opened={opened} onClose={modal.close} title={t("keys.new")}>
        <NewKey
          onMade={(made) => {
            modal.close();
            setSecret(made);
          }}
        />
      </Dialog>
      <Dialog
        opened={secret !== undefined}
        onClose={() => setSecret(undefined)}
        title={t("keys.made")}
        closeOnClickOutside={false}
      >
        <Once warning={t("keys.once")} text={secret ?? ""} onKept={() => setSecret(undefined)} />
      </Dialog>
    </Panel>
  );
}
