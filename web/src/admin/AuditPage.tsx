import { Button, Group, NativeSelect, Table, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconChevronDown, IconChevronRight, IconDownload, IconHistory } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { formatShort } from "../ui/format";
import { More } from "../ui/More";
import { PageHeader } from "../ui/PageHeader";
import { YesNo } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { AuditDetails, type AuditEntry } from "./AuditDetails";
import { auditQuery, useAuditWords } from "./audit";

const fields = ["actor", "object", "request"] as const;
type Filter = Record<(typeof fields)[number] | "action" | "from" | "until", string>;
const nothing: Filter = { actor: "", action: "", object: "", request: "", from: "", until: "" };

export function AuditPage() {
  const { t } = useTranslation();
  const { actions } = useAuditWords();
  const [filter, setFilter] = useState(nothing);
  const [wanted] = useDebouncedValue(filter, 300);
  const asked = auditQuery(wanted);
  const query = useInfiniteQuery({
    queryKey: ["audit", asked],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      take(client.GET("/api/v1/audit", { params: { query: { ...asked, cursor: pageParam, limit: 50 } } })),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const set = (field: keyof Filter) => (event: { currentTarget: { value: string } }) =>
    setFilter({ ...filter, [field]: event.currentTarget.value });
  return (
    <>
      <PageHeader
        title={t("nav.audit")}
        text={t("audit.text")}
        actions={
          <Button
            component="a"
            href={`/api/v1/audit/export?${new URLSearchParams(asked)}`}
            download
            variant="default"
            leftSection={<IconDownload size={18} />}
          >
            {t("audit.export")}
          </Button>
        }
      />
      <Group mb="md" align="flex-end">
        <NativeSelect
          label={t("audit.action")}
          value={filter.action}
          onChange={set("action")}
          data={[{ value: "", label: t("audit.everything") }, ...actions]}
          flex={1}
          miw={180}
        />
        {fields.map((field) => (
          <TextInput
            key={field}
            label={t(`audit.${field}`)}
            value={filter[field]}
            onChange={set(field)}
            flex={1}
            miw={140}
          />
        ))}
        <TextInput type="date" label={t("audit.from")} value={filter.from} onChange={set("from")} />
        <TextInput type="date" label={t("audit.until")} value={filter.until} onChange={set("until")} />
      </Group>
      <Loaded query={query}>
        {(data) => {
          const items = data.pages.flatMap((page) => page.items) as unknown as AuditEntry[];
          return items.length === 0 ? (
            <Empty icon={IconHistory} title={t("lists.noHit")}>
              {t("lists.noHitFilter")}
            </Empty>
          ) : (
            <List items={items} />
          );
        }}
      </Loaded>
      <More query={query} />
    </>
  );
}

function List({ items }: { items: AuditEntry[] }) {
  const { t, i18n } = useTranslation();
  const words = useAuditWords();
  const [opened, setOpened] = useState<string>();
  return (
    <Rows
      label={t("nav.audit")}
      heads={[t("audit.when"), t("audit.actor"), t("audit.action"), t("audit.object"), t("audit.outcome")]}
    >
      {items.map((one) => {
        const open = opened === one.id;
        const Icon = open ? IconChevronDown : IconChevronRight;
        return (
          <Fragment key={one.id}>
            <Table.Tr>
              <Table.Td>
                <UnstyledButton
                  display="block"
                  aria-expanded={open}
                  onClick={() => setOpened(open ? undefined : one.id)}
                >
                  <Group gap={6} wrap="nowrap">
                    <Icon size={16} aria-hidden style={{ flex: "none" }} />
                    <Text size="sm" style={{ whiteSpace: "nowrap" }}>
                      {formatShort(new Date(one.at), i18n.language)}
                    </Text>
                  </Group>
                </UnstyledButton>
              </Table.Td>
              <Table.Td>{one.actor.name}</Table.Td>
              <Table.Td>{words.action(one.action)}</Table.Td>
              <Table.Td>
                <Text size="sm">
                  {words.kind(one.objectKind)} {one.objectName}
                </Text>
              </Table.Td>
              <Table.Td>
                <YesNo
                  good={one.outcome === "done"}
                  yes={t("audit.outcomes.done")}
                  no={t(`audit.outcomes.${one.outcome}`)}
                />
              </Table.Td>
            </Table.Tr>
            {open && (
              <Table.Tr>
                <Table.Td colSpan={5}>
                  <AuditDetails entry={one} />
                </Table.Td>
              </Table.Tr>
            )}
          </Fragment>
        );
      })}
    </Rows>
  );
}
