import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import type { WorkspaceDetail } from "../api/types";
import { EventList } from "../ui/EventList";
import { LogView } from "../ui/LogView";
import { PageHeader } from "../ui/PageHeader";
import { Status } from "../ui/Status";
import { Loaded, Loading } from "../ui/states";
import { TextView } from "../ui/TextView";
import { UsageChart } from "../ui/UsageChart";
import { Actions } from "./Actions";
import { Overview } from "./Overview";
import { below, eventsQuery, usageQuery, workspaceQuery } from "./queries";

// The terminal is by far the largest part of the pages: only those who open one wait for it.
const Terminal = lazy(() => import("../terminal/Terminal").then((module) => ({ default: module.Terminal })));

const tabs = ["overview", "terminal", "logs", "events", "describe", "yaml", "usage"] as const;
type Tab = (typeof tabs)[number];

export function WorkspacePage() {
  const { t } = useTranslation();
  const path = useParams({ from: "/inside/workspaces/$namespace/$name" });
  const search = useSearch({ from: "/inside/workspaces/$namespace/$name" });
  const navigate = useNavigate();
  const query = useQuery(workspaceQuery(path));
  const tab: Tab = tabs.find((one) => one === search.tab) ?? "overview";
  const go = (next: string | null) =>
    void navigate({
      to: "/workspaces/$namespace/$name",
      params: path,
      search: { tab: next === "overview" ? undefined : (next ?? undefined) },
      replace: true,
    });
  return (
    <>
      <PageHeader
        title={path.name}
        above={{ title: t("nav.workspaces"), to: "/workspaces" }}
        beside={query.data && <Status phase={query.data.phase} size="md" />}
        actions={query.data && <Actions workspace={query.data} onTerminal={() => go("terminal")} />}
      />
      <Loaded query={query}>
        {(workspace) => (
          <Tabs value={tab} onChange={go} keepMounted={false}>
            <Tabs.List mb="lg">
              {tabs.map((one) => (
                <Tabs.Tab key={one} value={one}>
                  {t(`tabs.${one}`)}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="overview">
              <Overview workspace={workspace} />
            </Tabs.Panel>
            <Tabs.Panel value="terminal">
              <Suspense fallback={<Loading />}>
                <Terminal path={below(path, "terminal")} running={workspace.phase === "Running"} />
              </Suspense>
            </Tabs.Panel>
            <Tabs.Panel value="logs">
              <LogView path={below(path, "logs")} file={`${path.name}.log`} />
            </Tabs.Panel>
            <Tabs.Panel value="events">
              <Events path={path} />
            </Tabs.Panel>
            <Tabs.Panel value="describe">
              <TextView path={below(path, "describe")} file={`${path.name}.txt`} missing="route" />
            </Tabs.Panel>
            <Tabs.Panel value="yaml">
              <TextView path={below(path, "yaml")} file={`${path.name}.yaml`} />
            </Tabs.Panel>
            <Tabs.Panel value="usage">
              <UsageTab workspace={workspace} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </>
  );
}

type Path = { namespace: string; name: string };

function Events({ path }: { path: Path }) {
  return <EventList query={useQuery(eventsQuery(path))} />;
}

function UsageTab({ workspace }: { workspace: WorkspaceDetail }) {
  return (
    <Loaded query={useQuery(usageQuery(workspace))} missing="route">
      {(usage) => <UsageChart usage={usage} />}
    </Loaded>
  );
}
