import { Button, Group, NativeSelect, Table, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { AccountDetail } from "../api/types";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";
import { Panel } from "../ui/Panel";
import { Rows } from "../ui/Table";
import { useAction } from "../ui/useAction";
import { Amounts } from "./AccountsPage";
import { ResourcesInput } from "./ResourcesInput";
import { pairsOf, resourcesOf } from "./tree";

type Member = NonNullable<AccountDetail["members"]>[number];
const roles = ["Member", "Admin", "Viewer"] as const;

/** Who belongs to an account, what each may have at most, and has. */
export function MembersPanel({ account, manages }: { account: AccountDetail; manages: boolean }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState<Partial<Member>>();
  const [going, setGoing] = useState<Member>();
  const remove = useAction({
    run: (user: string) =>
      client.DELETE("/api/v1/accounts/{name}/members/{user}", {
        params: { path: { name: account.name, user } },
      }),
    done: t("accounts.memberGone"),
    changes: [["accounts"], ["me"]],
    onDone: () => setGoing(undefined),
  });
  const used = (user: string) => account.usage?.find((one) => one.user === user)?.used;
  return (
    <Panel
      title={t("accounts.members")}
      beside={
        manages && (
          <Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setEditing({})}>
            {t("accounts.addMember")}
          </Button>
        )
      }
    >
      {account.members?.length ? (
        <Rows
          label={t("accounts.members")}
          heads={[t("fields.user"), t("accounts.role"), t("accounts.used"), t("accounts.cap"), ""]}
        >
          {account.members.map((one) => (
            <Table.Tr key={one.user}>
              <Table.Td fw={600}>{one.user}</Table.Td>
              <Table.Td>{t(`memberRoles.${one.role ?? "Member"}`)}</Table.Td>
              <Table.Td>
                <Amounts of={used(one.user)} />
              </Table.Td>
              <Table.Td>
                <Amounts of={one.capability} />
              </Table.Td>
              <Table.Td>
                {manages && (
                  <Group gap="xs" justify="flex-end" wrap="nowrap">
                    <Button size="xs" variant="subtle" onClick={() => setEditing(one)}>
                      {t("actions.edit")}
                    </Button>
                    <Button size="xs" variant="subtle" color="red" onClick={() => setGoing(one)}>
                      {t("actions.remove")}
                    </Button>
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      ) : (
        <Text c="dimmed" size="sm">
          {t("accounts.noMembers")}
        </Text>
      )}
      <Dialog
        opened={editing !== undefined}
        onClose={() => setEditing(undefined)}
        title={editing?.user ? t("accounts.editMember") : t("accounts.addMember")}
      >
        {editing && (
          <MemberForm account={account.name} member={editing} onDone={() => setEditing(undefined)} />
        )}
      </Dialog>
      <Confirm
        opened={going !== undefined}
        onClose={() => setGoing(undefined)}
        onConfirm={() => going && remove.mutate(going.user)}
        busy={remove.isPending}
        danger
        title={t("accounts.removeTitle", { user: going?.user ?? "" })}
        confirm={t("actions.remove")}
      >
        {t("accounts.removeText")}
      </Confirm>
    </Panel>
  );
}

interface FormProps {
  account: string;
  member: Partial<Member>;
  onDone: () => void;
}

export function MemberForm({ account, member, onDone }: FormProps) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: {
      user: member.user ?? "",
      role: member.role ?? "Member",
      cap: pairsOf(member.capability),
    },
    validate: { user: (value) => (value.trim() ? null : t("forms.required")) },
  });
  const save = useSend(form, {
    run: ({ user, role, cap }) =>
      client.PUT("/api/v1/accounts/{name}/members/{user}", {
        params: { path: { name: account, user: user.trim() } },
        body: { role, cap: resourcesOf(cap) },
      }),
    done: t("accounts.memberSaved"),
    changes: [["accounts"], ["me"]],
    onDone,
  });
  return (
    <SmallForm sending={save} submit={t("actions.save")}>
      <TextInput
        label={t("fields.user")}
        required
        disabled={member.user !== undefined}
        data-autofocus
        {...form.getInputProps("user")}
      />
      <NativeSelect
        label={t("accounts.role")}
        data={roles.map((value) => ({ value, label: t(`memberRoles.${value}`) }))}
        {...form.getInputProps("role")}
      />
      <ResourcesInput
        title={t("accounts.cap")}
        text={t("accounts.capText")}
        rows={form.values.cap}
        error={form.errors.cap}
        others={["pods", "workspaces"]}
        onChange={(rows) => form.setFieldValue("cap", rows)}
      />
    </SmallForm>
  );
}
