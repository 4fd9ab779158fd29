import { Alert, NativeSelect, Stack, Tabs } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import type { JobDetail } from "../api/types";
import { EventList } from "../ui/EventList";
import { LogView } from "../ui/LogView";
import { PageHeader } from "../ui/PageHeader";
import { Status } from "../ui/Status";
import { Loaded, Loading } from "../ui/states";
import { TextView } from "../ui/TextView";
import { UsageChart } from "../ui/UsageChart";
import { Actions } from "./Actions";
import { Overview } from "./Overview";
import { below, eventsQuery, jobQuery, usageQuery, type Work } from "./queries";

const Terminal = lazy(() => import("../terminal/Terminal").then((module) => ({ default: module.Terminal })));

const tabs = ["overview", "logs", "terminal", "events", "describe", "yaml", "usage"] as const;

export function JobPage() {
  const { t } = useTranslation();
  const path = useParams({ from: "/inside/jobs/$namespace/$name" });
  const search = useSearch({ from: "/inside/jobs/$namespace/$name" });
  const navigate = useNavigate();
  const query = useQuery(jobQuery(path));
  const tab = tabs.find((one) => one === search.tab) ?? "overview";
  const go = (next: string | null) =>
    void navigate({
      to: "/jobs/$namespace/$name",
      params: path,
      search: { tab: next === "overview" ? undefined : (next ?? undefined) },
      replace: true,
    });
  return (
    <>
      <PageHeader
        title={path.name}
        above={{ title: t("nav.jobs"), to: "/jobs" }}
        beside={query.data && <Status phase={query.data.phase} size="md" />}
        actions={query.data && <Actions job={query.data} />}
      />
      <Loaded query={query}>
        {(job) => (
          <Tabs value={tab} onChange={go} keepMounted={false}>
            <Tabs.List mb="lg">
              {tabs.map((one) => (
                <Tabs.Tab key={one} value={one}>
                  {t(`tabs.${one}`)}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="overview">
              <Overview job={job} />
            </Tabs.Panel>
            <Tabs.Panel value="logs">
              <PodChoice job={job}>
                {(pod) => <LogView path={below(path, `logs?pod=${pod}`)} file={`${pod}.log`} />}
              </PodChoice>
            </Tabs.Panel>
            <Tabs.Panel value="terminal">
              <PodChoice job={job}>
                {(pod, phase) => (
                  <Suspense fallback={<Loading />}>
                    <Terminal path={below(path, `terminal?pod=${pod}`)} running={phase === "Running"} />
                  </Suspense>
                )}
              </PodChoice>
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
              <UsageTab job={job} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </>
  );
}

interface ChoiceProps {
  job: JobDetail;
  children: (pod: string, phase: string) => ReactNode;
}

/** Which of its Pods; the first one until another is chosen. */
function PodChoice({ job, children }: ChoiceProps) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState("");
  const pod = job.pods.find((one) => one.name === chosen) ?? job.pods[0];
  if (!pod) {
    return (
      <Alert color="gray" icon={<IconAlertTriangle size={18} />}>
        {t("jobs.noPods")}
      </Alert>
    );
  }
  return (
    <Stack>
      {job.pods.length > 1 && (
        <NativeSelect
          label={t("jobs.pod")}
          maw={360}
          value={pod.name}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={job.pods.map((one) => one.name)}
        />
      )}
      <div key={pod.name}>{children(pod.name, pod.phase)}</div>
    </Stack>
  );
}

function Events({ path }: { path: Work }) {
  return <EventList query={useQuery(eventsQuery(path))} />;
}

function UsageTab({ job }: { job: JobDetail }) {
  return (
    <Loaded query={useQuery(usageQuery(job))} missing="route">
      {(usage) => <UsageChart usage={usage} />}
    </Loaded>
  );
}
