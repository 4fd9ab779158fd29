import { ActionIcon, NumberInput, Stack, Textarea, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { IconX } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { Beside } from "../forms/Beside";
import { CardsInput } from "../forms/CardsInput";
import type { useChoices } from "../forms/choices";
import { cardFields } from "../forms/values";
import { Panel } from "../ui/Panel";
import { type JobValues, type partsOf, startsAlone } from "./form";

interface Props {
  form: UseFormReturnType<JobValues>;
  index: number;
  choices: ReturnType<typeof useChoices>;
  part: (typeof partsOf)["Single"][number] | undefined;
}

/** One task: how many Pods of which image, running what, with which cards. */
export function TaskInput({ form, index, choices, part }: Props) {
  const { t } = useTranslation();
  const task = form.values.tasks[index];
  if (!task) return null;
  const single = form.values.tasks.length === 1;
  return (
    <Panel
      title={single ? t("jobs.program") : t("jobs.taskTitle", { name: task.name })}
      beside={
        part?.optional && (
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t("jobs.removeTask", { name: task.name })}
            onClick={() => form.removeListItem("tasks", index)}
          >
            <IconX size={16} />
          </ActionIcon>
        )
      }
    >
      <Stack>
        <Beside>
          <TextInput
            label={t("fields.image")}
            placeholder="registry.example/team/tool:1.2"
            required
            {...form.getInputProps(`tasks.${index}.image`)}
          />
          {!part?.alone && (
            <NumberInput
              label={t("jobs.replicas")}
              min={1}
              max={10_000}
              allowDecimal={false}
              {...form.getInputProps(`tasks.${index}.replicas`)}
            />
          )}
        </Beside>
        <Textarea
          label={t("jobs.command")}
          description={
            startsAlone(form.values.type, task.name) ? t("jobs.commandAlone") : t("jobs.commandText")
          }
          placeholder="python train.py"
          autosize
          minRows={1}
          {...form.getInputProps(`tasks.${index}.command`)}
        />
        <Beside>
          <TextInput label={t("fields.cpu")} {...form.getInputProps(`tasks.${index}.cpu`)} />
          <TextInput label={t("fields.memory")} {...form.getInputProps(`tasks.${index}.memory`)} />
        </Beside>
        {part?.cards && (
          <CardsInput
            value={task.cards}
            onChange={(cards) => {
              form.setFieldValue(`tasks.${index}.cards`, cards);
              for (const field of cardFields) form.clearFieldError(`tasks.${index}.cards.${field}`);
            }}
            choices={choices.cards}
            errors={form.errors}
            path={`tasks.${index}.cards`}
          />
        )}
      </Stack>
    </Panel>
  );
}
