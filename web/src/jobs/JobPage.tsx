import { Alert, NativeSelect, Stack } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConnectTab } from "../access/ConnectTab";
import { isOffered } from "../access/offer";
import { portsQuery } from "../access/ports";
import type { JobDetail } from "../api/types";
import { LogView } from "../ui/LogView";
import { Terminal, WorkPage } from "../work/WorkPage";
import { below } from "../work/work";
import { Actions } from "./Actions";
import { Overview } from "./Overview";
import { jobQuery, podsQuery } from "./queries";

export function JobPage() {
  const path = useParams({ from: "/inside/jobs/$namespace/$name" });
  const query = useQuery(jobQuery(path));
  const waysIn = isOffered(useQuery(portsQuery("jobs", path)));
  return (
    <WorkPage
      kind="jobs"
      query={query}
      actions={(job) => <Actions job={job} />}
      own={{
        overview: (job) => <Overview job={job} />,
        terminal: (job) => (
          <PodChoice job={job}>
            {(pod, phase) => (
              <Terminal path={below("jobs", path, `terminal?pod=${pod}`)} running={phase === "Running"} />
            )}
          </PodChoice>
        ),
        connect: waysIn ? (job) => <ConnectTab kind="jobs" work={job} /> : undefined,
        logs: (job) => (
          <PodChoice job={job}>
            {(pod) => (
              <LogView
                path={below("jobs", path, `logs?pod=${pod}`)}
                file={`${pod}.log`}
                containers={containersOf(job, pod)}
              />
            )}
          </PodChoice>
        ),
      }}
    />
  );
}

interface Template {
  spec?: { initContainers?: { name: string }[]; containers?: { name: string }[] };
}

/** The programs of a Pod, as its task names them; only who may read the job knows them. */
function containersOf(job: JobDetail, pod: string): string[] {
  const task = job.pods.find((one) => one.name === pod)?.task;
  const template = job.spec?.tasks.find((one) => one.name === task)?.template as Template | undefined;
  const { initContainers = [], containers = [] } = template?.spec ?? {};
  return [...containers, ...initContainers].map((one) => one.name);
}

interface ChoiceProps {
  job: JobDetail;
  children: (pod: string, phase: string) => ReactNode;
}

/** Which of its Pods; the first one until another is chosen. */
function PodChoice({ job, children }: ChoiceProps) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState("");
  const others = useQuery({ ...podsQuery(job), enabled: job.podCount > job.pods.length });
  const pods = others.data ?? job.pods;
  const pod = pods.find((one) => one.name === chosen) ?? pods[0];
  if (!pod) {
    return (
      <Alert color="gray" icon={<IconAlertTriangle size={18} />}>
        {t("jobs.noPods")}
      </Alert>
    );
  }
  return (
    <Stack>
      {pods.length > 1 && (
        <NativeSelect
          label={t("jobs.pod")}
          maw={360}
          value={pod.name}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={pods.map((one) => one.name)}
        />
      )}
      <div key={pod.name}>{children(pod.name, pod.phase)}</div>
    </Stack>
  );
}
