// The page of one workspace or job: a head with what can be done, and tabs. What only one kind has comes from its folder.
import { Tabs } from "@mantine/core";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { EventList } from "../ui/EventList";
import { PageHeader } from "../ui/PageHeader";
import { type Phase, Status } from "../ui/Status";
import { Loaded, Loading } from "../ui/states";
import { TextView } from "../ui/TextView";
import { UsageChart } from "../ui/UsageChart";
import { below, eventsQuery, type Kind, pages, usageQuery, type Work } from "./work";

// The terminal is by far the largest part of the pages: only those who open one wait for it.
const Shell = lazy(() => import("../terminal/Terminal").then((module) => ({ default: module.Terminal })));

export function Terminal(props: { path: string; running: boolean }) {
  return (
    <Suspense fallback={<Loading />}>
      <Shell {...props} />
    </Suspense>
  );
}

type OwnTab = "overview" | "terminal" | "logs" | "connect";
type Panels<Detail, Tab extends string> = Partial<Record<Tab, (work: Detail) => ReactNode>>;

interface Props<Detail> {
  kind: Kind;
  query: UseQueryResult<Detail>;
  actions: (work: Detail, go: (tab: OwnTab) => void) => ReactNode;
  /** Tabs that each kind fills in its own way, in their order; what is left out has no tab. */
  own: Panels<Detail, OwnTab>;
}

export function WorkPage<Detail extends Work & { phase: Phase }>(props: Props<Detail>) {
  const { kind, query, actions, own } = props;
  const { t } = useTranslation();
  const path = useParams({ from: `/inside${pages[kind]}` });
  const search = useSearch({ from: `/inside${pages[kind]}` });
  const navigate = useNavigate();
  const panels = {
    ...own,
    events: () => <Events kind={kind} path={path} />,
    describe: () => <TextView path={below(kind, path, "describe")} file={`${path.name}.txt`} />,
    yaml: () => <TextView path={below(kind, path, "yaml")} file={`${path.name}.yaml`} />,
    usage: () => <Usage kind={kind} path={path} />,
  } satisfies Panels<Detail, OwnTab | "events" | "describe" | "yaml" | "usage">;
  const tabs = (Object.keys(panels) as (keyof typeof panels)[]).filter((one) => panels[one]);
  const tab = tabs.find((one) => one === search.tab) ?? "overview";
  const go = (next: string | null) =>
    void navigate({
      to: pages[kind],
      params: path,
      search: { tab: next === "overview" ? undefined : (next ?? undefined) },
      replace: true,
    });
  return (
    <>
      <PageHeader
        title={path.name}
        above={{ title: t(`nav.${kind}`), to: `/${kind}` }}
        beside={query.data && <Status phase={query.data.phase} size="md" />}
        actions={query.data && actions(query.data, go)}
      />
      <Loaded query={query}>
        {(work) => (
          <Tabs value={tab} onChange={go} keepMounted={false}>
            <Tabs.List mb="lg">
              {tabs.map((one) => (
                <Tabs.Tab key={one} value={one}>
                  {t(`tabs.${one}`)}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value={tab}>{panels[tab]?.(work)}</Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </>
  );
}

function Events({ kind, path }: { kind: Kind; path: Work }) {
  return <EventList query={useQuery(eventsQuery(kind, path))} />;
}

function Usage({ kind, path }: { kind: Kind; path: Work }) {
  return <Loaded query={useQuery(usageQuery(kind, path))}>{(usage) => <UsageChart usage={usage} />}</Loaded>;
}
