// The list of workspaces or jobs: what is searched for, whose, and the rows. Columns come from the folder of the kind.
import { Button, Group, SegmentedControl, Table, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { type IconLock, IconPlus, IconSearch } from "@tabler/icons-react";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMe } from "../app/session";
import { More } from "../ui/More";
import { PageHeader } from "../ui/PageHeader";
import { Status } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import ui from "../ui/ui.module.css";
import { When } from "../ui/When";
import { NoteLine } from "./Notes";
import type { Told } from "./reasons";
import { type Kind, pages, type Work } from "./work";

/** What is asked for: a text, and whose. */
export function useSearching() {
  const [search, setSearch] = useState("");
  const [whose, setWhose] = useState("mine");
  const [wanted] = useDebouncedValue(search.trim(), 200);
  const filter = { search: wanted || undefined, mine: whose === "mine" };
  return { search, setSearch, whose, setWhose, filter };
}

interface View extends Work, Told {
  user?: string | null;
  created?: string | null;
}

/** A column: its head, and what stands in it. */
export type Column<Item> = [head: string, cell: (item: Item) => ReactNode];

interface Props<Item> {
  kind: Kind;
  icon: typeof IconLock;
  searching: ReturnType<typeof useSearching>;
  query: UseInfiniteQueryResult<InfiniteData<{ items: Item[] }>>;
  /** Columns between the state and the day it was made. */
  columns: Column<Item>[];
  /** More to choose from, beside the search and below it. */
  filters?: ReactNode;
  facets?: ReactNode;
  /** Something besides the search leaves rows out. */
  filtered?: boolean;
}

export function WorkList<Item extends View>(props: Props<Item>) {
  const { kind, icon, searching, query, columns, filters, facets, filtered } = props;
  const { t } = useTranslation();
  const me = useMe();
  const wanted = searching.filter.search;
  // Who sees nobody else's work needs no choice.
  const others = me.platformAdmin || Object.values(me.accounts).some((role) => role !== "guest");
  const create = (
    <Button component={Link} to={`/${kind}/new`} leftSection={<IconPlus size={18} />}>
      {t(`${kind}.new`)}
    </Button>
  );
  return (
    <>
      <PageHeader title={t(`nav.${kind}`)} text={t(`${kind}.text`)} actions={create} />
      <Group mb="md">
        <TextInput
          aria-label={t(`${kind}.search`)}
          placeholder={t(`${kind}.search`)}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={searching.search}
          onChange={(event) => searching.setSearch(event.currentTarget.value)}
          flex={1}
          miw={200}
          maw={420}
        />
        {filters}
        {others && (
          <SegmentedControl
            aria-label={t("lists.whose")}
            value={searching.whose}
            onChange={searching.setWhose}
            data={[
              { value: "mine", label: t("lists.mine") },
              { value: "all", label: t("lists.all") },
            ]}
          />
        )}
      </Group>
      {facets}
      <Loaded query={query}>
        {(data) => {
          const items = data.pages.flatMap((page) => page.items);
          if (items.length > 0) {
            const whose = searching.whose === "all";
            return (
              <WorkRows kind={kind} label={t(`nav.${kind}`)} items={items} columns={columns} whose={whose} />
            );
          }
          return wanted || filtered ? (
            <Empty icon={IconSearch} title={t("lists.noHit")}>
              {filtered ? t("lists.noHitFilter") : t("lists.noHitText", { search: wanted })}
            </Empty>
          ) : (
            <Empty icon={icon} title={t(`${kind}.none`)} action={create}>
              {t(`${kind}.noneText`)}
            </Empty>
          );
        }}
      </Loaded>
      <More query={query} />
    </>
  );
}

interface RowsProps<Item> {
  kind: Kind;
  label: string;
  items: Item[];
  columns: Column<Item>[];
  /** Say whose each is. */
  whose?: boolean;
}

export function WorkRows<Item extends View>({ kind, label, items, columns, whose }: RowsProps<Item>) {
  const { t } = useTranslation();
  const all: Column<Item>[] = [
    ...(whose ? [[t("fields.user"), (one) => one.user ?? "–"] satisfies Column<Item>] : []),
    [
      t("fields.state"),
      (one) => (
        <>
          <Status phase={one.phase} />
          <NoteLine kind={kind} work={one} size="xs" lineClamp={1} miw={160} maw={280} />
        </>
      ),
    ],
    ...columns,
    [t("fields.created"), (one) => <When at={one.created} />],
  ];
  return (
    <Rows label={label} heads={[t("fields.name"), ...all.map(([head]) => head)]}>
      {items.map((one) => (
        <Table.Tr key={`${one.namespace}/${one.name}`}>
          <Table.Td>
            <Link
              to={pages[kind]}
              params={{ namespace: one.namespace, name: one.name }}
              search={{ tab: undefined }}
              className={ui.rowLink}
            >
              {one.name}
            </Link>
          </Table.Td>
          {all.map(([head, cell]) => (
            <Table.Td key={head}>{cell(one)}</Table.Td>
          ))}
        </Table.Tr>
      ))}
    </Rows>
  );
}
