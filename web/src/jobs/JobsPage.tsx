import { Chip, Group, NativeSelect } from "@mantine/core";
import { IconBriefcase2 } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { JobPhase, JobType } from "../api/types";
import { Lasting } from "../ui/When";
import { useSearching, WorkList } from "../work/WorkList";
import { jobTypes } from "./form";
import { JobCards } from "./JobCards";
import { jobsQuery } from "./queries";

export function JobsPage() {
  const { t } = useTranslation();
  const searching = useSearching();
  const [type, setType] = useState("");
  const [phase, setPhase] = useState<JobPhase | undefined>();
  const query = useInfiniteQuery({
    ...jobsQuery({ ...searching.filter, type: (type || undefined) as JobType | undefined, phase }),
    placeholderData: keepPreviousData,
  });
  const phases = Object.entries((query.data?.pages[0]?.phases ?? {}) as Record<JobPhase, number>);
  return (
    <WorkList
      kind="jobs"
      icon={IconBriefcase2}
      searching={searching}
      query={query}
      filtered={Boolean(type || phase)}
      filters={
        <NativeSelect
          aria-label={t("fields.type")}
          value={type}
          onChange={(event) => setType(event.currentTarget.value)}
          data={[
            { value: "", label: t("jobs.allTypes") },
            ...jobTypes.map((value) => ({ value, label: t(`jobTypes.${value}`) })),
          ]}
        />
      }
      facets={phases.length > 0 && <Facets phases={phases} chosen={phase} onChoose={setPhase} />}
      columns={[
        [t("fields.type"), (one) => t(`jobTypes.${one.type}`)],
        [t("fields.ready"), (one) => one.ready ?? `0/${one.replicas}`],
        [t("fields.cards"), (one) => <JobCards job={one} />],
        [t("fields.lasted"), (one) => <Lasting from={one.started} until={one.ended} />],
      ]}
    />
  );
}

interface FacetsProps {
  phases: [string, number][];
  chosen: JobPhase | undefined;
  onChoose: (phase: JobPhase | undefined) => void;
}

/** How many jobs are in which state, to choose one. */
function Facets({ phases, chosen, onChoose }: FacetsProps) {
  const { t } = useTranslation();
  return (
    <Group gap="xs" mb="lg" role="group" aria-label={t("fields.state")}>
      {phases.map(([one, count]) => (
        <Chip
          key={one}
          size="sm"
          variant="outline"
          checked={chosen === one}
          onChange={(on) => onChoose(on ? (one as JobPhase) : undefined)}
        >
          {t(`phases.${one as JobPhase}`)} · {count}
        </Chip>
      ))}
    </Group>
  );
}
