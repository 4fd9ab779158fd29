import { Button, Group, SegmentedControl, Table, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconPlus, IconSearch, IconTerminal2 } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { WorkspaceView } from "../api/types";
import { useMe } from "../app/session";
import { say } from "../i18n/say";
import { CardsAsked } from "../ui/CardsAsked";
import { More } from "../ui/More";
import { PageHeader } from "../ui/PageHeader";
import { Status } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import ui from "../ui/ui.module.css";
import { When } from "../ui/When";
import { workspacesQuery } from "./queries";

export function WorkspacesPage() {
  const { t } = useTranslation();
  const me = useMe();
  const [search, setSearch] = useState("");
  const [whose, setWhose] = useState("mine");
  const [wanted] = useDebouncedValue(search.trim(), 200);
  // Who sees nobody else's work needs no choice.
  const others = me.platformAdmin || Object.values(me.accounts).some((role) => role !== "guest");
  const filter = { search: wanted || undefined, mine: whose === "mine" };
  const query = useInfiniteQuery(workspacesQuery(filter));
  const create = (
    <Button component={Link} to="/workspaces/new" leftSection={<IconPlus size={18} />}>
      {t("workspaces.new")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("nav.workspaces")} text={t("workspaces.text")} actions={create} />
      <Group mb="md">
        <TextInput
          aria-label={t("workspaces.search")}
          placeholder={t("workspaces.search")}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          flex={1}
          maw={420}
        />
        {others && (
          <SegmentedControl
            aria-label={t("lists.whose")}
            value={whose}
            onChange={setWhose}
            data={[
              { value: "mine", label: t("lists.mine") },
              { value: "all", label: t("lists.all") },
            ]}
          />
        )}
      </Group>
      <Loaded query={query}>
        {(data) => {
          const items = data.pages.flatMap((page) => page.items);
          if (items.length > 0) return <List items={items} whose={whose === "all"} />;
          return wanted ? (
            <Empty icon={IconSearch} title={t("lists.noHit")}>
              {t("lists.noHitText", { search: wanted })}
            </Empty>
          ) : (
            <Empty icon={IconTerminal2} title={t("workspaces.none")} action={create}>
              {t("workspaces.noneText")}
            </Empty>
          );
        }}
      </Loaded>
      <More query={query} />
    </>
  );
}

function List({ items, whose }: { items: WorkspaceView[]; whose: boolean }) {
  const { t } = useTranslation();
  const heads = [
    t("fields.name"),
    t("fields.state"),
    t("fields.cards"),
    t("fields.image"),
    t("fields.created"),
  ];
  if (whose) heads.splice(1, 0, t("fields.user"));
  return (
    <Rows label={t("nav.workspaces")} heads={heads}>
      {items.map((one) => (
        <Table.Tr key={`${one.namespace}/${one.name}`}>
          <Table.Td>
            <Link
              to="/workspaces/$namespace/$name"
              params={{ namespace: one.namespace, name: one.name }}
              search={{ tab: undefined }}
              className={ui.rowLink}
            >
              {one.name}
            </Link>
          </Table.Td>
          {whose && <Table.Td>{one.user ?? "–"}</Table.Td>}
          <Table.Td>
            <Status phase={one.phase} />
            {one.phase === "Pending" && one.message && (
              <Text size="xs" c="dimmed" lineClamp={1} maw={280}>
                {say(one.message)}
              </Text>
            )}
          </Table.Td>
          <Table.Td>
            <CardsAsked cards={one.cards} />
          </Table.Td>
          <Table.Td>
            <Text size="sm" truncate maw={240} title={one.image}>
              {one.image}
            </Text>
          </Table.Td>
          <Table.Td>
            <When at={one.created} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
