import { Button, Group, Table, Text, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { IconPlus, IconSearch, IconUsers } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { UserView } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { More } from "../ui/More";
import { PageHeader } from "../ui/PageHeader";
import { YesNo } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { When } from "../ui/When";
import { MadePassword } from "./MadePassword";
import { NewUser } from "./NewUser";
import { UserActions } from "./UserActions";

export function UsersPage() {
  const { t } = useTranslation();
  const [search, setSearch] = useState("");
  const [wanted] = useDebouncedValue(search.trim(), 200);
  const [opened, modal] = useDisclosure();
  const [made, setMade] = useState<{ name: string; password: string }>();
  const query = useInfiniteQuery({
    queryKey: ["users", wanted],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      take(
        client.GET("/api/v1/users", {
          params: { query: { search: wanted || undefined, cursor: pageParam } },
        }),
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  return (
    <>
      <PageHeader
        title={t("nav.users")}
        text={t("users.text")}
        actions={
          <Button leftSection={<IconPlus size={18} />} onClick={modal.open}>
            {t("users.new")}
          </Button>
        }
      />
      <Group mb="md">
        <TextInput
          aria-label={t("users.search")}
          placeholder={t("users.search")}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          flex={1}
          maw={420}
        />
      </Group>
      <Loaded query={query}>
        {(data) => {
          const items = data.pages.flatMap((page) => page.items);
          return items.length === 0 ? (
            <Empty icon={IconUsers} title={t("lists.noHit")} />
          ) : (
            <List items={items} onPassword={setMade} />
          );
        }}
      </Loaded>
      <More query={query} />
      <Dialog opened={opened} onClose={modal.close} title={t("users.new")}>
        <NewUser
          onMade={(one) => {
            modal.close();
            setMade(one);
          }}
        />
      </Dialog>
      <MadePassword made={made} onClose={() => setMade(undefined)} />
    </>
  );
}

interface ListProps {
  items: UserView[];
  onPassword: (made: { name: string; password: string }) => void;
}

function List({ items, onPassword }: ListProps) {
  const { t } = useTranslation();
  return (
    <Rows
      label={t("nav.users")}
      heads={[
        t("fields.name"),
        t("fields.state"),
        t("users.part"),
        t("users.lastLogin"),
        t("users.expires"),
        "",
      ]}
    >
      {items.map((user) => (
        <Table.Tr key={user.id}>
          <Table.Td>
            <Text size="sm" fw={600}>
              {user.name}
            </Text>
            <Text size="xs" c="dimmed">
              {[user.displayName !== user.name && user.displayName, user.email].filter(Boolean).join(" · ")}
            </Text>
          </Table.Td>
          <Table.Td>
            <YesNo good={!user.disabled} yes={t("users.active")} no={t("users.disabled")} />
          </Table.Td>
          <Table.Td>{user.platformAdmin ? t("users.admin") : t("users.user")}</Table.Td>
          <Table.Td>
            <When at={user.lastLogin} none={t("keys.never")} />
          </Table.Td>
          <Table.Td>
            <When at={user.expires} none={t("users.noEnd")} />
          </Table.Td>
          <Table.Td>
            <UserActions user={user} onPassword={onPassword} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
