import { Accordion, Alert, Button, Group, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconAlertCircle } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { asApiError } from "../api/error";
import type { JobType } from "../api/types";
import { useChoices } from "../forms/choices";
import { useFaultTexts } from "../forms/useFaults";
import { SaveTemplate } from "../templates/SaveTemplate";
import { Panel } from "../ui/Panel";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";
import { faultsOf, fieldOf, type JobValues, jobTypes, manifestOf, newTask, partsOf, tasksFor } from "./form";
import { MoreJobOptions } from "./MoreJobOptions";
import { TaskInput } from "./TaskInput";

interface Props {
  initial: JobValues;
  /** What stands in the form now, for the manifest that is made of it. */
  onValues: (values: JobValues) => void;
}

export function JobForm({ initial, onValues }: Props) {
  const { t } = useTranslation();
  const said = useErrorText();
  const texts = useFaultTexts();
  const navigate = useNavigate();
  const choices = useChoices();
  const form = useForm<JobValues>({
    initialValues: initial,
    validate: (values) => texts(faultsOf(values)),
    onValuesChange: onValues,
  });
  const submit = useAction({
    quiet: true,
    run: (values: JobValues) => take(client.POST("/api/v1/jobs", { body: manifestOf(values) as never })),
    changes: [["jobs", "list"]],
    onDone: ({ namespace, name }) =>
      void navigate({
        to: "/jobs/$namespace/$name",
        params: { namespace, name },
        search: { tab: undefined },
      }),
  });
  const send = form.onSubmit((values) =>
    submit.mutate(values, {
      onError: (error) => {
        const field = fieldOf(asApiError(error).field);
        if (field) form.setFieldError(field, said(error));
      },
    }),
  );
  const general = submit.error && !fieldOf(asApiError(submit.error).field) ? submit.error : undefined;
  const { type, tasks } = form.values;
  const absent = partsOf[type].filter(
    (part) => part.optional && !tasks.some((task) => task.name === part.name),
  );
  return (
    <form onSubmit={send} noValidate>
      <Stack gap="lg" maw={820}>
        {general && (
          <Alert color="red" icon={<IconAlertCircle size={18} />} role="alert">
            {asApiError(general).field && <strong>{asApiError(general).field}: </strong>}
            {said(general)}
          </Alert>
        )}
        <Panel title={t("jobs.what")}>
          <Group grow align="flex-start">
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
          </Group>
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
        <Accordion variant="separated" radius="lg">
          <Accordion.Item value="more">
            <Accordion.Control>{t("forms.more")}</Accordion.Control>
            <Accordion.Panel>
              <MoreJobOptions form={form} choices={choices} />
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
        <Group justify="flex-end">
          <SaveTemplate kind="job" body={() => manifestOf(form.values)} />
          <Button type="submit" loading={submit.isPending}>
            {t("jobs.submit")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
