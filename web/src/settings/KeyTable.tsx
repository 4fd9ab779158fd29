import { Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { KeyView } from "../api/types";
import { EndButton } from "../ui/EndButton";
import { Rows } from "../ui/Table";
import { When } from "../ui/When";

interface Props {
  items: (KeyView & { user?: string })[];
  /** Says whose they are, where they are not all the reader's. */
  users?: boolean;
}

/** Keys that programs hold, each of which can be ended. */
export function KeyTable({ items, users }: Props) {
  const { t } = useTranslation();
  const heads = [t("fields.name"), t("keys.scopes"), t("keys.lastUsed"), t("keys.expires"), ""];
  return (
    <Rows label={t("keys.title")} heads={users ? [t("fields.user"), ...heads] : heads}>
      {items.map((one) => (
        <Table.Tr key={one.id}>
          {users && <Table.Td fw={600}>{one.user}</Table.Td>}
          <Table.Td fw={users ? undefined : 600}>{one.name}</Table.Td>
          <Table.Td>
            <Text size="xs">{one.scopes.join(", ")}</Text>
          </Table.Td>
          <Table.Td>
            <When at={one.lastUsed} none={t("keys.never")} />
          </Table.Td>
          <Table.Td>
            <When at={one.expires} none={t("keys.noEnd")} />
          </Table.Td>
          <Table.Td>
            <EndButton
              label={t("keys.revoke")}
              title={t("keys.revokeTitle", { name: one.name })}
              run={() => client.DELETE("/api/v1/keys/{id}", { params: { path: { id: one.id } } })}
              done={t("keys.revoked")}
              changes={[["keys"]]}
            >
              {t("keys.revokeText")}
            </EndButton>
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
