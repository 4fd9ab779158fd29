import { Code, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { WorkspaceDetail } from "../api/types";
import { CardsAsked } from "../ui/CardsAsked";
import { Facts } from "../ui/Facts";
import { formatAmount, givenTitle } from "../ui/format";
import { Panel } from "../ui/Panel";
import { Loaded } from "../ui/states";
import { Lasting, When } from "../ui/When";
import { WhyCard } from "../ui/WhyCard";
import { HolderLine } from "../work/HolderLine";
import { CleanupWarning, StoppedNote } from "../work/Notes";
import { whyQuery } from "../work/work";
import { neighboursQuery } from "./queries";

export function Overview({ workspace }: { workspace: WorkspaceDetail }) {
  const { t } = useTranslation();
  const why = useQuery({ ...whyQuery("workspaces", workspace), enabled: workspace.phase === "Pending" });
  const resources = workspace.resources as Record<string, string>;
  const facts: [string, ReactNode][] = [
    [t("fields.type"), t(`types.${workspace.type}`)],
    [t("fields.image"), workspace.image],
    [t("fields.cpu"), formatAmount("cpu", resources.cpu)],
    [t("fields.memory"), formatAmount("memory", resources.memory)],
    [t("fields.cards"), <CardsAsked key="cards" cards={workspace.cards} />],
    [t("fields.given"), givenTitle(workspace.givenCards)],
    [t("fields.node"), workspace.node ?? "–"],
    [t("fields.account"), workspace.account],
    [t("fields.user"), workspace.user ?? "–"],
    [t("fields.serviceLevel"), t(`serviceLevels.${workspace.serviceLevel}`)],
    [t("fields.created"), <When key="created" at={workspace.created} />],
    [
      t("fields.running"),
      workspace.phase === "Running" ? <Lasting key="running" from={workspace.started} /> : "–",
    ],
    [t("fields.restarts"), workspace.restarts],
    [
      t("fields.protected"),
      <When key="protected" at={workspace.protectedUntil} none={t("fields.notProtected")} />,
    ],
  ];
  return (
    <Stack gap="lg">
      <CleanupWarning kind="workspaces" work={workspace} />
      {workspace.phase === "Pending" && <WhyCard query={why} message={workspace.message} />}
      <StoppedNote
        work={workspace}
        rest={workspace.phase === "Suspended" ? t("workspaces.isSuspended") : undefined}
      />
      <Panel>
        <Facts facts={facts} />
      </Panel>
      <Inside workspace={workspace} />
      {(workspace.cards?.share || workspace.cards?.memory) && <Neighbours workspace={workspace} />}
    </Stack>
  );
}

/** What its owner put into it: volumes and environment. */
function Inside({ workspace }: { workspace: WorkspaceDetail }) {
  const { t } = useTranslation();
  const spec = workspace.spec;
  if (!spec) return null;
  const volumes = spec.volumes ?? [];
  const mounts = spec.mounts ?? [];
  const env = (spec.env ?? []) as unknown as { name: string; value?: string }[];
  if (volumes.length + mounts.length + env.length === 0) return null;
  const facts: [string, ReactNode][] = [
    ...volumes.map((one): [string, ReactNode] => [
      t("workspaces.ownVolume", { name: one.name }),
      `${one.path} · ${formatAmount("memory", one.size as string)}`,
    ]),
    ...mounts.map((one): [string, ReactNode] => [
      t("workspaces.mount"),
      `${one.path} · ${one.claim ?? one.configMap ?? one.secret ?? t("fields.memory")}`,
    ]),
    ...env.map((one): [string, ReactNode] => [one.name, <Code key={one.name}>{one.value ?? "…"}</Code>]),
  ];
  return (
    <Panel title={t("workspaces.inside")}>
      <Facts facts={facts} />
    </Panel>
  );
}

/** Others on the same shared card: who shares should know with whom. */
function Neighbours({ workspace }: { workspace: WorkspaceDetail }) {
  const { t } = useTranslation();
  return (
    <Panel title={t("workspaces.neighbours")}>
      <Loaded query={useQuery(neighboursQuery(workspace))} rows={1}>
        {({ items }) => (
          <>
            {items.length === 0 && <Text size="sm">{t("workspaces.alone")}</Text>}
            {items.map((one) => (
              <HolderLine
                key={`${one.card}/${one.namespace}/${one.name}/${one.user}`}
                holder={one}
                card={one.card}
              />
            ))}
          </>
        )}
      </Loaded>
    </Panel>
  );
}
