import { Button, Group, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { JobType } from "../api/types";
import { Beside } from "../forms/Beside";
import { useChoices } from "../forms/choices";
import { Folded } from "../forms/Folded";
import { useFaultTexts } from "../forms/useFaults";
import { useSend } from "../forms/useSend";
import { SaveTemplate } from "../templates/SaveTemplate";
import { Panel } from "../ui/Panel";
import { faultsOf, fieldOf, type JobValues, jobTypes, manifestOf, newTask, partsOf, tasksFor } from "./form";
import { MoreJobOptions } from "./MoreJobOptions";
import { TaskInput } from "./TaskInput";

/** What MoreJobOptions asks for. */
const folded = ["mounts", "env", "account", "serviceLevel", "pool", "priority", "maxRunHours", "retries"];

interface Props {
  initial: JobValues;
  /** What stands in the form now, for the manifest that is made of it. */
  onValues: (values: JobValues) => void;
}

export function JobForm({ initial, onValues }: Props) {
  const { t } = useTranslation();
  const texts = useFaultTexts();
  const navigate = useNavigate();
  const choices = useChoices();
  const form = useForm<JobValues>({
    initialValues: initial,
    validate: (values) => texts(faultsOf(values)),
    onValuesChange: onValues,
  });
  const sending = useSend(form, {
    fieldOf,
    run: (values: JobValues) => take(client.POST("/api/v1/jobs", { body: manifestOf(values) as never })),
    changes: [["jobs", "list"]],
    onDone: ({ namespace, name }) =>
      void navigate({
        to: "/jobs/$namespace/$name",
        params: { namespace, name },
        search: { tab: undefined },
      }),
  });
  const { type, tasks } = form.values;
  const absent = partsOf[type].filter(
    (part) => part.optional && !tasks.some((task) => task.name === part.name),
  );
  return (
    <form onSubmit={sending.onSubmit} noValidate>
      <Stack gap="lg" maw={820}>
        {sending.problem}
        <Panel title={t("jobs.what")}>
          <Beside>
            <TextInput
              label={t("fields.name")}
              description={t("forms.jobNameRule")}
              required
              {...form.getInputProps("name")}
            />
            <NativeSelect
              label={t("fields.type")}
              description={t(`jobTypeTexts.${type}`)}
              value={type}
              onChange={(event) => {
                const next = event.currentTarget.value as JobType;
                form.setValues({ type: next, tasks: tasksFor(next, tasks) });
              }}
              data={jobTypes.map((value) => ({ value, label: t(`jobTypes.${value}`) }))}
            />
          </Beside>
        </Panel>
        {tasks.map((task, index) => (
          <TaskInput
            key={task.name}
            form={form}
            index={index}
            choices={choices}
            part={partsOf[type].find((part) => part.name === task.name)}
          />
        ))}
        {absent.length > 0 && (
          <Group gap="xs">
            {absent.map((part) => (
              <Button
                key={part.name}
                variant="default"
                size="xs"
                onClick={() => form.setFieldValue("tasks", [...tasks, newTask(part, tasks[0]?.image)])}
              >
                {t("jobs.addTask", { name: part.name })}
              </Button>
            ))}
          </Group>
        )}
        <Folded fields={folded} errors={form.errors}>
          <MoreJobOptions form={form} choices={choices} />
        </Folded>
        <Group justify="flex-end">
          <SaveTemplate
            kind="job"
            body={() => (form.validate().hasErrors ? undefined : manifestOf(form.values))}
          />
          <Button type="submit" loading={sending.busy}>
            {t("jobs.submit")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
