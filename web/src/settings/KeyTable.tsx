import { Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { KeyView } from "../api/types";
import { EndTable } from "../ui/EndTable";
import { When } from "../ui/When";

type Key = KeyView & { user?: string };

interface Props {
  items: Key[];
  /** Says whose they are, where they are not all the reader's. */
  users?: boolean;
}

/** Keys that programs hold, each of which can be ended. */
export function KeyTable({ items, users }: Props) {
  const { t } = useTranslation();
  return (
    <EndTable
      label={t("keys.title")}
      items={items}
      columns={[
        ...(users ? [[t("fields.user"), (one: Key) => one.user] as [string, (one: Key) => string]] : []),
        [t("fields.name"), (one) => one.name],
        [t("keys.scopes"), (one) => <Text size="xs">{one.scopes.join(", ")}</Text>],
        [t("keys.lastUsed"), (one) => <When at={one.lastUsed} none={t("keys.never")} />],
      ]}
      end={(one) => ({
        label: t("keys.revoke"),
        title: t("keys.revokeTitle", { name: one.name }),
        children: t("keys.revokeText"),
        run: () => client.DELETE("/api/v1/keys/{id}", { params: { path: { id: one.id } } }),
        done: t("keys.revoked"),
        changes: [["keys"]],
      })}
    />
  );
}
