import { Button, Chip, Group, NativeSelect, SegmentedControl, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconBriefcase2, IconPlus, IconSearch } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { JobPhase, JobType } from "../api/types";
import { useMe } from "../app/session";
import { More } from "../ui/More";
import { PageHeader } from "../ui/PageHeader";
import { Empty, Loaded } from "../ui/states";
import { jobTypes } from "./form";
import { JobTable } from "./JobTable";
import { jobsQuery } from "./queries";

export function JobsPage() {
  const { t } = useTranslation();
  const me = useMe();
  const [search, setSearch] = useState("");
  const [whose, setWhose] = useState("mine");
  const [type, setType] = useState("");
  const [phase, setPhase] = useState<JobPhase | undefined>();
  const [wanted] = useDebouncedValue(search.trim(), 200);
  const others = me.platformAdmin || Object.values(me.accounts).some((role) => role !== "guest");
  const query = useInfiniteQuery({
    ...jobsQuery({
      search: wanted || undefined,
      mine: whose === "mine",
      type: (type || undefined) as JobType | undefined,
      phase,
    }),
    placeholderData: keepPreviousData,
  });
  const phases = Object.entries((query.data?.pages[0]?.phases ?? {}) as Record<JobPhase, number>);
  const filtered = Boolean(wanted || type || phase);
  const submit = (
    <Button component={Link} to="/jobs/new" leftSection={<IconPlus size={18} />}>
      {t("jobs.new")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("nav.jobs")} text={t("jobs.text")} actions={submit} />
      <Group mb="md">
        <TextInput
          aria-label={t("jobs.search")}
          placeholder={t("jobs.search")}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          flex={1}
          maw={420}
        />
        <NativeSelect
          aria-label={t("fields.type")}
          value={type}
          onChange={(event) => setType(event.currentTarget.value)}
          data={[
            { value: "", label: t("jobs.allTypes") },
            ...jobTypes.map((value) => ({ value, label: t(`jobTypes.${value}`) })),
          ]}
        />
        {others && (
          <SegmentedControl
            aria-label={t("lists.whose")}
            value={whose}
            onChange={setWhose}
            data={[
              { value: "mine", label: t("lists.mine") },
              { value: "all", label: t("lists.all") },
            ]}
          />
        )}
      </Group>
      {phases.length > 0 && (
        <Group gap="xs" mb="lg" role="group" aria-label={t("fields.state")}>
          {phases.map(([one, count]) => (
            <Chip
              key={one}
              size="sm"
              variant="outline"
              checked={phase === one}
              onChange={(on) => setPhase(on ? (one as JobPhase) : undefined)}
            >
              {t(`phases.${one as JobPhase}`)} · {count}
            </Chip>
          ))}
        </Group>
      )}
      <Loaded query={query}>
        {(data) => {
          const items = data.pages.flatMap((page) => page.items);
          if (items.length > 0) return <JobTable items={items} whose={whose === "all"} />;
          return filtered ? (
            <Empty icon={IconSearch} title={t("lists.noHit")}>
              {t("lists.noHitFilter")}
            </Empty>
          ) : (
            <Empty icon={IconBriefcase2} title={t("jobs.none")} action={submit}>
              {t("jobs.noneText")}
            </Empty>
          );
        }}
      </Loaded>
      <More query={query} />
    </>
  );
}
