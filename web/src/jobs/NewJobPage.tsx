// A new job: by a form, or as a manifest. The form writes the manifest; who edits that goes on in it.
import { Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { templateQuery } from "../api/shared";
import { suggestName } from "../forms/values";
import { TemplateHeader } from "../templates/TemplateHeader";
import { PageHeader } from "../ui/PageHeader";
import { Loaded } from "../ui/states";
import { toYaml } from "../ui/yaml";
import { cloneOf, initialValues, type JobValues, manifestOf } from "./form";
import { JobForm } from "./JobForm";
import { jobQuery } from "./queries";
import { YamlForm } from "./YamlForm";

export function NewJobPage() {
  const { t } = useTranslation();
  const { clone, template, edit } = useSearch({ from: "/inside/jobs/new" });
  return (
    <>
      {edit ? (
        <TemplateHeader />
      ) : (
        <PageHeader
          title={t("jobs.new")}
          text={t("jobs.newText")}
          above={{ title: t("nav.jobs"), to: "/jobs" }}
        />
      )}
      {clone ? (
        <FromJob place={clone} />
      ) : template ? (
        <FromTemplate id={template} edit={edit} />
      ) : (
        <FormOrYaml />
      )}
    </>
  );
}

function FormOrYaml() {
  const { t } = useTranslation();
  const [values, setValues] = useState<JobValues>(() => ({
    ...initialValues,
    name: suggestName("job", Math.random),
  }));
  const [yaml, setYaml] = useState<string>();
  return (
    <Tabs value={yaml === undefined ? "form" : "yaml"} keepMounted={false}>
      <Tabs.List mb="lg">
        <Tabs.Tab value="form" onClick={() => setYaml(undefined)}>
          {t("jobs.byForm")}
        </Tabs.Tab>
        <Tabs.Tab value="yaml" onClick={() => setYaml((before) => before ?? toYaml(manifestOf(values)))}>
          {t("jobs.byYaml")}
        </Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="form">
        <JobForm initial={values} onValues={setValues} />
      </Tabs.Panel>
      <Tabs.Panel value="yaml">
        <Stack>
          <Group justify="space-between">
            <Text size="sm" c="dimmed">
              {t("jobs.yamlText")}
            </Text>
            <Button variant="subtle" size="compact-sm" onClick={() => setYaml(undefined)}>
              {t("jobs.backToForm")}
            </Button>
          </Group>
          <YamlForm initial={yaml ?? ""} />
        </Stack>
      </Tabs.Panel>
    </Tabs>
  );
}

function FromJob({ place }: { place: string }) {
  const [namespace = "", name = ""] = place.split("/");
  const [fresh] = useState(() => suggestName(name.slice(0, 30), Math.random));
  const query = useQuery(jobQuery({ namespace, name }));
  return (
    <Loaded query={query}>
      {(job) => (
        <YamlForm initial={toYaml(cloneOf(fresh, (job.spec ?? {}) as unknown as Record<string, unknown>))} />
      )}
    </Loaded>
  );
}

function FromTemplate({ id, edit }: { id: string; edit?: boolean }) {
  return (
    <Loaded query={useQuery(templateQuery(id))}>
      {(template) => <YamlForm initial={toYaml(template.body)} template={edit ? template : undefined} />}
    </Loaded>
  );
}
