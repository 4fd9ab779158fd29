import { Alert, Button, Code, Group, Stack, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertTriangle, IconKey, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { KeyView } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { EndButton } from "../ui/EndButton";
import { Panel } from "../ui/Panel";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { CopyText } from "../ui/TextView";
import { When } from "../ui/When";
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
            <List items={valid} />
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
        <Stack>
          <Alert color="yellow" icon={<IconAlertTriangle size={18} />}>
            {t("keys.once")}
          </Alert>
          <Code block>{secret}</Code>
          <Group justify="space-between">
            <CopyText text={secret ?? ""} />
            <Button onClick={() => setSecret(undefined)}>{t("keys.kept")}</Button>
          </Group>
        </Stack>
      </Dialog>
    </Panel>
  );
}

function List({ items }: { items: KeyView[] }) {
  const { t } = useTranslation();
  return (
    <Rows
      label={t("keys.title")}
      heads={[t("fields.name"), t("keys.scopes"), t("keys.lastUsed"), t("keys.expires"), ""]}
    >
      {items.map((one) => (
        <Table.Tr key={one.id}>
          <Table.Td fw={600}>{one.name}</Table.Td>
          <Table.Td>
            <Text size="xs">{one.scopes.join(", ")}</Text>
          </Table.Td>
          <Table.Td>
            <When at={one.lastUsed} none={t("keys.never")} />
          </Table.Td>
          <Table.Td>
            <When at={one.expires} />
          </Table.Td>
          <Table.Td>
            <EndKey id={one.id} name={one.name} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}

export function EndKey({ id, name }: { id: string; name: string }) {
  const { t } = useTranslation();
  return (
    <EndButton
      label={t("keys.revoke")}
      title={t("keys.revokeTitle", { name })}
      run={() => client.DELETE("/api/v1/keys/{id}", { params: { path: { id } } })}
      done={t("keys.revoked")}
      changes={[["keys"]]}
    >
      {t("keys.revokeText")}
    </EndButton>
  );
}
