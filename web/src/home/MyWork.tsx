import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { IconPlus, IconSparkles } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { JobView, WorkspaceView } from "../api/types";
import { Panel } from "../ui/Panel";
import { Status } from "../ui/Status";
import { Empty, Loaded } from "../ui/states";
import ui from "../ui/ui.module.css";
import { When } from "../ui/When";
import { NoteLine } from "../work/Notes";

const shown = 6;

type Mine = (({ work: "workspaces" } & WorkspaceView) | ({ work: "jobs" } & JobView))[];

/** What I have started, newest first; read again when the stream tells of a change. */
function useMine() {
  return useQuery({
    queryKey: ["home", "mine"],
    queryFn: async () => {
      const query = { mine: true, limit: shown };
      const [workspaces, jobs] = await Promise.all([
        take(client.GET("/api/v1/workspaces", { params: { query } })),
        take(client.GET("/api/v1/jobs", { params: { query } })),
      ]);
      const all: Mine = [
        ...workspaces.items.map((one) => ({ work: "workspaces" as const, ...one })),
        ...jobs.items.map((one) => ({ work: "jobs" as const, ...one })),
      ];
      return all.sort((a, b) => (b.created ?? "").localeCompare(a.created ?? "")).slice(0, shown);
    },
  });
}

export function MyWork() {
  const { t } = useTranslation();
  return (
    <Panel
      title={t("home.mine")}
      h="100%"
      beside={
        <Group gap="md">
          <Anchor component={Link} to="/workspaces" size="sm">
            {t("nav.workspaces")}
          </Anchor>
          <Anchor component={Link} to="/jobs" size="sm">
            {t("nav.jobs")}
          </Anchor>
        </Group>
      }
    >
      <Loaded query={useMine()}>
        {(mine) =>
          mine.length === 0 ? (
            <Nothing />
          ) : (
            mine.map((one) => <Row key={`${one.work}/${one.name}`} one={one} />)
          )
        }
      </Loaded>
    </Panel>
  );
}

function Row({ one }: { one: Mine[number] }) {
  const { t } = useTranslation();
  return (
    <Group justify="space-between" py="sm" wrap="nowrap" gap="md">
      <Stack gap={2} miw={0}>
        <Link
          to={one.work === "workspaces" ? "/workspaces/$namespace/$name" : "/jobs/$namespace/$name"}
          params={{ namespace: one.namespace, name: one.name }}
          search={{ tab: undefined }}
          className={ui.rowLink}
        >
          {one.name}
        </Link>
        <Text size="sm" c="dimmed" truncate>
          {one.work === "workspaces" ? t("home.workspace") : t("home.job")} · <When at={one.created} />
        </Text>
        <NoteLine kind={one.work} work={one} size="sm" truncate />
      </Stack>
      <Status phase={one.phase} />
    </Group>
  );
}

function Nothing() {
  const { t } = useTranslation();
  return (
    <Empty
      icon={IconSparkles}
      title={t("home.nothing")}
      action={
        <Button component={Link} to="/workspaces/new" leftSection={<IconPlus size={18} />}>
          {t("workspaces.new")}
        </Button>
      }
    >
      {t("home.nothingText")}
    </Empty>
  );
}
