import { Group, Table, Text, TextInput } from "@mantine/core";
import { IconSearch, IconServer2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { NodeView } from "../api/types";
import { heldOf } from "../heatmap/model";
import { nodesQuery } from "../heatmap/queries";
import { cardTitle, formatAmount, modelTitle } from "../ui/format";
import { PageHeader } from "../ui/PageHeader";
import { YesNo } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import ui from "../ui/ui.module.css";

export function NodesPage() {
  const { t } = useTranslation();
  const [search, setSearch] = useState("");
  const query = useQuery(nodesQuery);
  const matches = (node: NodeView) =>
    [node.name, node.pool, node.model].some((word) => word?.toLowerCase().includes(search.toLowerCase()));
  return (
    <>
      <PageHeader title={t("nav.nodes")} text={t("nodes.text")} />
      <Group mb="md">
        <TextInput
          aria-label={t("nodes.search")}
          placeholder={t("nodes.search")}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          flex={1}
          maw={420}
        />
      </Group>
      <Loaded query={query}>
        {(nodes) => {
          const shown = nodes.filter(matches);
          return shown.length === 0 ? (
            <Empty icon={IconServer2} title={t("lists.noHit")} />
          ) : (
            <List nodes={shown} />
          );
        }}
      </Loaded>
    </>
  );
}

/** How many cards of a node are taken. */
export function cardsOf(node: Pick<NodeView, "cards" | "model">): string {
  // The model is that of its cards only where they are all of one kind.
  const model = node.cards.length === 1 ? modelTitle(node.model) : undefined;
  return node.cards
    .map((kind) => `${heldOf(kind)}/${kind.cards.length} ${model ?? cardTitle(kind.resource)}`)
    .join(", ");
}

function List({ nodes }: { nodes: NodeView[] }) {
  const { t } = useTranslation();
  const used = (node: NodeView, resource: string) => {
    const [requested, allocatable] = [node.requested, node.allocatable] as Record<string, string>[];
    return `${formatAmount(resource, requested?.[resource])} / ${formatAmount(resource, allocatable?.[resource])}`;
  };
  return (
    <Rows
      label={t("nav.nodes")}
      heads={[
        t("fields.name"),
        t("fields.state"),
        t("fields.pool"),
        t("fields.cards"),
        t("fields.cpu"),
        t("fields.memory"),
        t("resources.pods"),
      ]}
    >
      {nodes.map((node) => (
        <Table.Tr key={node.name}>
          <Table.Td>
            <Link
              to="/admin/nodes/$node/overview"
              params={{ node: node.name } as never}
              className={ui.rowLink}
            >
              {node.name}
            </Link>
          </Table.Td>
          <Table.Td>
            <YesNo
              good={node.ready && node.schedulable}
              yes={t("nodes.ready")}
              no={node.ready ? t("nodes.cordoned") : t("nodes.notReady")}
            />
          </Table.Td>
          <Table.Td>{node.pool ?? "–"}</Table.Td>
          <Table.Td>
            <Text size="sm">{cardsOf(node) || "–"}</Text>
          </Table.Td>
          <Table.Td>{used(node, "cpu")}</Table.Td>
          <Table.Td>{used(node, "memory")}</Table.Td>
          <Table.Td>{node.pods}</Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
