import { Button, Center, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { JobDetail } from "../api/types";
import { Facts } from "../ui/Facts";
import { givenTitle } from "../ui/format";
import { More } from "../ui/More";
import { Panel } from "../ui/Panel";
import { podPhase, Status } from "../ui/Status";
import { Rows } from "../ui/Table";
import ui from "../ui/ui.module.css";
import { Lasting, When } from "../ui/When";
import { WhyCard } from "../ui/WhyCard";
import { CleanupWarning, StoppedNote } from "../work/Notes";
import { WorkRows } from "../work/WorkList";
import { pages, whyQuery } from "../work/work";
import { cardNumbers, JobCards } from "./JobCards";
import { jobsQuery, podsQuery } from "./queries";

const waiting = ["Prequeue", "Pending", "Preempted", "Restarting"];

export function Overview({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const waits = waiting.includes(job.phase);
  const why = useQuery({ ...whyQuery("jobs", job), enabled: waits });
  const facts: [string, ReactNode][] = [
    [t("fields.type"), t(`jobTypes.${job.type}`)],
    [t("fields.ready"), job.ready ?? `0/${job.replicas}`],
    [t("fields.cards"), <JobCards key="cards" job={job} />],
    [t("fields.account"), job.account],
    [t("fields.user"), job.user ?? "–"],
    [t("fields.serviceLevel"), t(`serviceLevels.${job.serviceLevel}`)],
    [t("fields.priority"), job.priority],
    [t("fields.created"), <When key="created" at={job.created} />],
    [t("fields.started"), <When key="started" at={job.started} />],
    [t("fields.lasted"), <Lasting key="lasted" from={job.started} until={job.ended} />],
    [t("fields.attempt"), job.attempt],
    [t("fields.preemptions"), job.preemptions],
  ];
  const numbers = cardNumbers(job.spec?.tasks ?? []);
  if (numbers) facts.splice(3, 0, [t("forms.cardIndices"), numbers]);
  if (job.parent) facts.push([t("jobs.parent"), <Parent key="parent" job={job} name={job.parent} />]);
  return (
    <Stack gap="lg">
      <CleanupWarning kind="jobs" work={job} />
      {waits && <WhyCard query={why} message={job.message} />}
      <StoppedNote work={job} />
      <Panel>
        <Facts facts={facts} />
      </Panel>
      {(job.spec?.array || job.spec?.schedule) && <Made job={job} />}
      <Tasks job={job} />
      <Pods job={job} />
    </Stack>
  );
}

function Parent({ job, name }: { job: JobDetail; name: string }) {
  return (
    <Link
      to={pages.jobs}
      params={{ namespace: job.namespace, name }}
      search={{ tab: undefined }}
      className={ui.rowLink}
    >
      {name}
    </Link>
  );
}

/** The jobs that a schedule or an array made. */
function Made({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const query = useInfiniteQuery(jobsQuery({ namespace: job.namespace, parent: job.name }));
  const made = query.data?.pages.flatMap((page) => page.items) ?? [];
  if (made.length === 0) return null;
  return (
    <>
      <WorkRows
        kind="jobs"
        label={t("jobs.made")}
        items={made}
        columns={[[t("fields.lasted"), (one) => <Lasting from={one.started} until={one.ended} />]]}
      />
      <More query={query} />
    </>
  );
}

function Tasks({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  if (job.tasks.length === 0) return null;
  const heads = [
    t("jobs.task"),
    t("jobs.counts.replicas"),
    t("jobs.counts.pending"),
    t("jobs.counts.running"),
    t("jobs.counts.succeeded"),
    t("jobs.counts.failed"),
  ];
  return (
    <Rows label={t("jobs.tasks")} heads={heads}>
      {job.tasks.map((task) => (
        <Table.Tr key={task.name}>
          <Table.Td fw={600}>{task.name}</Table.Td>
          <Table.Td>{task.replicas}</Table.Td>
          <Table.Td>{(task.pending ?? 0) + (task.starting ?? 0)}</Table.Td>
          <Table.Td>{task.running}</Table.Td>
          <Table.Td>{task.succeeded}</Table.Td>
          <Table.Td>{task.failed}</Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}

/** A job may have thousands. */
const shownPods = 50;

function Pods({ job }: { job: JobDetail }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const others = useQuery({ ...podsQuery(job), enabled: all && job.podCount > job.pods.length });
  if (job.pods.length === 0) return null;
  const pods = others.data ?? job.pods;
  const count = Math.max(job.podCount ?? 0, pods.length);
  const heads = [
    t("jobs.pod"),
    t("jobs.task"),
    t("fields.state"),
    t("fields.node"),
    t("fields.given"),
    t("fields.restarts"),
  ];
  const shown = all ? pods : pods.slice(0, shownPods);
  return (
    <>
      <Rows label={t("jobs.pods")} heads={heads}>
        {shown.map((pod) => (
          <Table.Tr key={pod.name}>
            <Table.Td fw={600}>{pod.name}</Table.Td>
            <Table.Td>{pod.task ?? "–"}</Table.Td>
            <Table.Td>
              <Status phase={podPhase(pod.phase)} />
            </Table.Td>
            <Table.Td>{pod.node ?? "–"}</Table.Td>
            <Table.Td>
              <Text size="sm">{givenTitle(pod.cards)}</Text>
            </Table.Td>
            <Table.Td>{pod.restarts}</Table.Td>
          </Table.Tr>
        ))}
      </Rows>
      {shown.length < count && (
        <Center>
          <Button variant="default" loading={others.isFetching} onClick={() => setAll(true)}>
            {t("jobs.allPods", { count })}
          </Button>
        </Center>
      )}
    </>
  );
}
