import { Button, Group, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBuildingBank, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { accountsQuery } from "../api/shared";
import type { AccountView } from "../api/types";
import { useMe } from "../app/session";
import { Dialog } from "../ui/Dialog";
import { formatAmount } from "../ui/format";
import { PageHeader } from "../ui/PageHeader";
import { useResourceTitle } from "../ui/resources";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import ui from "../ui/ui.module.css";
import { AccountForm } from "./AccountForm";
import { treeOf } from "./tree";

export function AccountsPage() {
  const { t } = useTranslation();
  const me = useMe();
  const [opened, modal] = useDisclosure();
  const query = useQuery(accountsQuery);
  const create = me.platformAdmin && (
    <Button leftSection={<IconPlus size={18} />} onClick={modal.open}>
      {t("accounts.new")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("nav.accounts")} text={t("accounts.text")} actions={create} />
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon={IconBuildingBank} title={t("accounts.none")} action={create}>
              {t("accounts.noneText")}
            </Empty>
          ) : (
            <List items={items} />
          )
        }
      </Loaded>
      <Dialog opened={opened} onClose={modal.close} title={t("accounts.new")} size="lg">
        <AccountForm onDone={modal.close} />
      </Dialog>
    </>
  );
}

/** Amounts in one line, cards first. */
export function Amounts({ of }: { of: unknown }) {
  const title = useResourceTitle();
  const amounts = Object.entries((of ?? {}) as Record<string, string>);
  if (amounts.length === 0) return <>–</>;
  const rank = (resource: string) => (resource.includes("/") ? 0 : 1);
  amounts.sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
  return (
    <Text size="sm">
      {amounts
        .map(([resource, amount]) => `${formatAmount(resource, amount)} ${title(resource)}`)
        .join(" · ")}
    </Text>
  );
}

function List({ items }: { items: AccountView[] }) {
  const { t } = useTranslation();
  return (
    <Rows
      label={t("nav.accounts")}
      heads={[
        t("fields.name"),
        t("accounts.used"),
        t("accounts.deserved"),
        t("accounts.capability"),
        t("accounts.runningWaiting"),
      ]}
    >
      {treeOf(items).map(({ account, depth }) => (
        <Table.Tr key={account.name}>
          <Table.Td>
            <Group gap={6} pl={depth * 20} wrap="nowrap">
              {depth > 0 && (
                <Text c="dimmed" size="sm" aria-hidden>
                  └
                </Text>
              )}
              <div>
                <Link
                  to="/admin/accounts/$account/overview"
                  params={{ account: account.name } as never}
                  className={ui.rowLink}
                >
                  {account.displayName ?? account.name}
                </Link>
                {account.role && (
                  <Text size="xs" c="dimmed">
                    {t(`roles.${account.role}`)}
                  </Text>
                )}
              </div>
            </Group>
          </Table.Td>
          <Table.Td>
            <Amounts of={account.used} />
          </Table.Td>
          <Table.Td>
            <Amounts of={account.deserved} />
          </Table.Td>
          <Table.Td>
            <Amounts of={account.capability} />
          </Table.Td>
          <Table.Td>
            {account.runningPods} / {account.pendingPods}
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
