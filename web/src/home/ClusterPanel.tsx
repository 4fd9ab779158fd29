import { Alert, Anchor, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconClockExclamation } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { ClusterMessage, ClusterOverview } from "../api/types";
import { cardTitle, modelTitle } from "../ui/format";
import { Meter } from "../ui/Meter";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { When } from "../ui/When";
import { overviewQuery } from "./queries";

/** The cluster's state: cards by kind, nodes, and the queue. */
export function ClusterPanel() {
  const { t } = useTranslation();
  const query = useQuery(overviewQuery);
  return (
    <Panel
      title={t("home.cluster")}
      beside={
        <Anchor component={Link} to="/cards" size="sm">
          {t("home.openCards")}
        </Anchor>
      }
    >
      <Loaded query={query} rows={3}>
        {(overview) => (
          <Stack gap="xl">
            <Numbers overview={overview} />
            <SimpleGrid cols={{ base: 1, sm: 2, xl: 4 }} spacing="xl" verticalSpacing="lg">
              {overview.cards.map((card) => (
                <Meter
                  key={`${card.kind}/${card.model}`}
                  label={modelTitle(card.model) ?? cardTitle(card.kind)}
                  used={card.used}
                  shared={card.shared}
                  total={card.total}
                  text={t("home.cardsFree", { free: card.free, total: card.total })}
                />
              ))}
            </SimpleGrid>
            {overview.cards.length === 0 && <Text c="dimmed">{t("home.noCards")}</Text>}
            <Messages messages={overview.messages} />
          </Stack>
        )}
      </Loaded>
    </Panel>
  );
}

/** What is about to happen to the reader's own work. */
function Messages({ messages }: { messages: ClusterMessage[] }) {
  const { t } = useTranslation();
  return messages
    .filter((one) => one.kind === "cleanup")
    .map((one) => (
      <Alert
        key={`${one.object}/${one.namespace}/${one.name}`}
        color="orange"
        icon={<IconClockExclamation size={20} />}
        title={one.name}
      >
        {t(`cleanup.${one.rule as "Idle"}`, { account: one.account })} <When at={one.at} />{" "}
        <Anchor
          component={Link}
          to={one.object === "job" ? "/jobs/$namespace/$name" : "/workspaces/$namespace/$name"}
          params={{ namespace: one.namespace, name: one.name } as never}
          inherit
        >
          {t("home.look")}
        </Anchor>
      </Alert>
    ));
}

function Numbers({ overview }: { overview: ClusterOverview }) {
  const { t } = useTranslation();
  const free = overview.cards.reduce((sum, card) => sum + card.free, 0);
  const numbers: [string, string | number][] = [
    [t("home.freeCards"), free],
    [t("home.nodesReady"), `${overview.nodes.ready} / ${overview.nodes.total}`],
    [t("home.running"), overview.work.running],
    [t("home.waiting"), overview.work.pending],
  ];
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xl" verticalSpacing="md" component="dl" m={0}>
      {numbers.map(([name, value]) => (
        <div key={name}>
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} fz={30} lh={1.2} fw={650} className="numbers">
            {value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  );
}
