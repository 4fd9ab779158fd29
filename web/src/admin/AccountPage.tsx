import { Button, Group, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { AccountChange, AccountDetail } from "../api/types";
import { useMe } from "../app/session";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";
import { Facts } from "../ui/Facts";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { useAction } from "../ui/useAction";
import { AccountForm } from "./AccountForm";
import { Amounts } from "./AccountsPage";
import { MembersPanel } from "./MembersPanel";

export function AccountPage() {
  const { t } = useTranslation();
  const me = useMe();
  const { account: name } = useParams({ strict: false }) as { account: string };
  const query = useQuery({
    queryKey: ["accounts", "one", name],
    queryFn: () => take(client.GET("/api/v1/accounts/{name}", { params: { path: { name } } })),
  });
  return (
    <>
      <PageHeader
        title={query.data?.displayName ?? name}
        above={{ title: t("nav.accounts"), to: "/admin/accounts" }}
        actions={query.data && me.platformAdmin && <Actions account={query.data} />}
      />
      <Loaded query={query}>
        {(account) => (
          <Stack gap="lg">
            <Panel>
              <Facts
                facts={[
                  [t("fields.name"), account.name],
                  [t("accounts.parent"), account.parent ?? "–"],
                  [t("accounts.used"), <Amounts key="used" of={account.used} />],
                  [t("accounts.pending"), <Amounts key="pending" of={account.pending} />],
                  [t("accounts.borrowed"), <Amounts key="borrowed" of={account.borrowed} />],
                  [t("accounts.guaranteed"), <Amounts key="guaranteed" of={account.guaranteed} />],
                  [t("accounts.deserved"), <Amounts key="deserved" of={account.deserved} />],
                  [t("accounts.capability"), <Amounts key="capability" of={account.capability} />],
                  ...extrasOf(account, t),
                ]}
              />
            </Panel>
            {account.members && (
              <MembersPanel account={account} manages={me.platformAdmin || account.role === "admin"} />
            )}
          </Stack>
        )}
      </Loaded>
    </>
  );
}

/** What only administrators are told. */
function extrasOf(account: AccountDetail & AccountChange, t: TFunction): [string, ReactNode][] {
  const { weight, memberCapability, pools, everyone } = account;
  if (weight == null) return [];
  return [
    [t("accounts.memberCapability"), <Amounts key="memberCapability" of={memberCapability} />],
    [t("accounts.weight"), weight],
    [t("accounts.pools"), pools?.join(", ") || t("accounts.everyPool")],
    [t("accounts.who"), everyone ? t("accounts.whoAll") : t("accounts.whoMembers")],
  ];
}

function Actions({ account }: { account: AccountDetail }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [editing, edit] = useDisclosure();
  const [deleting, deletion] = useDisclosure();
  const remove = useAction({
    run: () => client.DELETE("/api/v1/accounts/{name}", { params: { path: { name: account.name } } }),
    done: t("accounts.deleted"),
    changes: [["accounts"], ["me"]],
    onDone: () => void navigate({ to: "/admin/accounts" }),
  });
  return (
    <Group gap="xs">
      <Button variant="default" leftSection={<IconPencil size={18} />} onClick={edit.open}>
        {t("actions.edit")}
      </Button>
      <Button variant="default" color="red" leftSection={<IconTrash size={18} />} onClick={deletion.open}>
        {t("actions.delete")}
      </Button>
      <Dialog opened={editing} onClose={edit.close} title={t("accounts.edit")} size="lg">
        <AccountForm account={account} onDone={edit.close} />
      </Dialog>
      <Confirm
        opened={deleting}
        onClose={deletion.close}
        onConfirm={() => remove.mutate()}
        busy={remove.isPending}
        danger
        title={t("accounts.deleteTitle", { name: account.name })}
        lost={[t("accounts.lost")]}
        confirm={t("actions.delete")}
      />
    </Group>
  );
}
