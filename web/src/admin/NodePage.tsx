import { Alert, Anchor, Group, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { IconUsersGroup } from "@tabler/icons-react";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { NodeDetail, NodePod, Usage as UsageOf } from "../api/types";
import { Facts } from "../ui/Facts";
import { givenTitle } from "../ui/format";
import { ResourceMeter } from "../ui/Meter";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { inOrder, useResourceTitle } from "../ui/resources";
import { podPhase, Status, YesNo } from "../ui/Status";
import { Loaded } from "../ui/states";
import { Rows } from "../ui/Table";
import { UsageChart } from "../ui/UsageChart";
import { LabelsPanel } from "./LabelsPanel";
import { NodeActions } from "./NodeActions";
import { TaintsPanel } from "./TaintsPanel";

const usageQuery = (name: string) =>
  queryOptions({
    queryKey: ["nodes", "usage", name],
    // Measurements are not told by the stream of changes.
    refetchInterval: 15_000,
    queryFn: async () =>
      (await take(client.GET("/api/v1/nodes/{name}/usage", { params: { path: { name } } }))) as UsageOf,
  });

export function NodePage() {
  const { t } = useTranslation();
  const { node: name } = useParams({ strict: false }) as { node: string };
  const query = useQuery({
    queryKey: ["nodes", "one", name],
    queryFn: () => take(client.GET("/api/v1/nodes/{name}", { params: { path: { name } } })),
  });
  const node = query.data;
  return (
    <>
      <PageHeader
        title={name}
        above={{ title: t("nav.nodes"), to: "/admin/nodes" }}
        beside={
          node && (
            <YesNo
              good={node.ready && node.schedulable}
              yes={t("nodes.ready")}
              no={node.ready ? t("nodes.cordoned") : t("nodes.notReady")}
            />
          )
        }
        actions={node && <NodeActions node={node} />}
      />
      <Loaded query={query} missing="route">
        {(found) => <Details node={found} />}
      </Loaded>
    </>
  );
}

function Details({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const title = useResourceTitle();
  const allocatable = inOrder(Object.entries((node.allocatable ?? {}) as Record<string, string>));
  // Pods ask for no Pods: they are counted.
  const requested = { ...(node.requested as Record<string, string>), pods: String(node.pods) };
  return (
    <Stack gap="lg">
      {node.account && (
        <Alert color="gray" icon={<IconUsersGroup size={18} />}>
          {t("nodes.ownedBy", { account: node.account })}
        </Alert>
      )}
      <Panel title={t("nodes.use")}>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing="md">
          {allocatable.map(([resource, total]) => (
            <ResourceMeter
              key={resource}
              resource={resource}
              label={title(resource)}
              used={requested[resource as keyof typeof requested]}
              total={total}
            />
          ))}
        </SimpleGrid>
      </Panel>
      {node.cards.length > 0 && <Usage name={node.name} />}
      {node.conditions && (
        <Panel title={t("nodes.conditions")}>
          <Facts
            facts={node.conditions.map((one) => [
              one.type,
              <div key={one.type} title={one.message ?? undefined}>
                <Text size="sm">{one.status}</Text>
                <Text size="xs" c="dimmed">
                  {one.reason}
                </Text>
              </div>,
            ])}
          />
        </Panel>
      )}
      <LabelsPanel node={node} />
      <TaintsPanel node={node} />
      {node.podList && <Pods pods={node.podList} />}
    </Stack>
  );
}

/** What its cards did, whoever was on them. */
function Usage({ name }: { name: string }) {
  return <Loaded query={useQuery(usageQuery(name))}>{(usage) => <UsageChart usage={usage} />}</Loaded>;
}

function Pods({ pods }: { pods: NodePod[] }) {
  const { t } = useTranslation();
  if (pods.length === 0) return <Text c="dimmed">{t("nodes.noPods")}</Text>;
  return (
    <Rows
      label={t("resources.pods")}
      heads={[t("fields.name"), t("nodes.podKind"), t("fields.user"), t("fields.state"), t("fields.given")]}
    >
      {pods.map((pod, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: hidden Pods have nothing to tell them apart
        <Table.Tr key={index}>
          <Table.Td>
            <Group gap={4}>
              <Text size="sm" fw={600}>
                {pod.name ?? t("cards.somebody")}
              </Text>
              <Text size="xs" c="dimmed">
                {pod.namespace}
              </Text>
            </Group>
          </Table.Td>
          <Table.Td>{t(`nodes.podKinds.${pod.kind as "system"}`)}</Table.Td>
          <Table.Td>
            {pod.user ? (
              <Anchor component={Link} to="/admin/users" size="sm">
                {pod.user}
              </Anchor>
            ) : (
              "–"
            )}
          </Table.Td>
          <Table.Td>
            <Status phase={podPhase(pod.phase)} />
          </Table.Td>
          <Table.Td>{givenTitle(pod.cards)}</Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
