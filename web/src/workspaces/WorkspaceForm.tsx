// A new workspace on one calm page: what everybody needs first, the rest folded away with sensible defaults.
import { Autocomplete, Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { TemplateDetail } from "../api/types";
import { Beside } from "../forms/Beside";
import { CardsInput } from "../forms/CardsInput";
import { useChoices } from "../forms/choices";
import { Folded } from "../forms/Folded";
import { useFaultTexts } from "../forms/useFaults";
import { useSend } from "../forms/useSend";
import { cardFields } from "../forms/values";
import { SaveTemplate } from "../templates/SaveTemplate";
import { Panel } from "../ui/Panel";
import { faultsOf, fieldOf, requestOf, type WorkspaceValues } from "./form";
import { MoreOptions } from "./MoreOptions";
import { imagesQuery } from "./queries";
import { type Origin, requestFrom, templateOf, unseen } from "./template";

/** What MoreOptions asks for. */
const folded = [
  "volumes",
  "mounts",
  "env",
  "command",
  "pool",
  "node",
  "account",
  "profile",
  "hostPaths",
  "maxRunHours",
];

interface Props {
  initial: WorkspaceValues;
  /** The template that it begins from. */
  from?: TemplateDetail;
  /** The template is changed; else a workspace is made. */
  edit?: boolean;
}

/** The template as it was when the form was opened, whatever becomes of it meanwhile. */
function useOrigin({ initial, from }: Props): Origin | undefined {
  const [origin] = useState(
    () => from && { id: from.id, body: from.body as Record<string, unknown>, before: initial },
  );
  return origin;
}

export function WorkspaceForm({ initial, from, edit }: Props) {
  const { t } = useTranslation();
  const texts = useFaultTexts();
  const navigate = useNavigate();
  const choices = useChoices();
  const origin = useOrigin({ initial, from });
  const template = edit ? from : undefined;
  const images = useQuery(imagesQuery).data?.items ?? [];
  const form = useForm<WorkspaceValues>({
    initialValues: initial,
    validate: (values) => texts(faultsOf(values)),
  });
  const sending = useSend(form, {
    fieldOf,
    run: (values: WorkspaceValues) =>
      take(
        client.POST("/api/v1/workspaces", { body: origin ? requestFrom(origin, values) : requestOf(values) }),
      ),
    changes: [["workspaces", "list"]],
    onDone: ({ namespace, name }) =>
      void navigate({
        to: "/workspaces/$namespace/$name",
        params: { namespace, name },
        search: { tab: undefined },
      }),
  });
  return (
    <form onSubmit={sending.onSubmit} noValidate>
      <Stack gap="lg" maw={820}>
        {sending.problem}
        <Panel title={t("workspaces.what")}>
          <Stack>
            <Beside>
              {!template && (
                <TextInput
                  label={t("fields.name")}
                  description={t("forms.nameRule")}
                  required
                  {...form.getInputProps("name")}
                />
              )}
              <NativeSelect
                label={t("fields.type")}
                description={t(`types.${form.values.type}Text`)}
                data={(["Terminal", "Jupyter", "CodeServer"] as const).map((value) => ({
                  value,
                  label: t(`types.${value}`),
                }))}
                {...form.getInputProps("type")}
              />
            </Beside>
            <Autocomplete
              label={t("fields.image")}
              description={t("forms.imageText")}
              placeholder="registry.example/team/tool:1.2"
              required
              data={images.map((one) => one.image)}
              renderOption={({ option }) => {
                const title = images.find((one) => one.image === option.value)?.title;
                return title ? `${title} · ${option.value}` : option.value;
              }}
              {...form.getInputProps("image")}
            />
          </Stack>
        </Panel>
        <Panel title={t("workspaces.howMuch")}>
          <Stack>
            <Beside>
              <TextInput
                label={t("fields.cpu")}
                description={t("forms.cpuText")}
                {...form.getInputProps("cpu")}
              />
              <TextInput
                label={t("fields.memory")}
                description={t("forms.memoryText")}
                {...form.getInputProps("memory")}
              />
            </Beside>
            <CardsInput
              value={form.values.cards}
              onChange={(cards) => {
                form.setFieldValue("cards", cards);
                for (const field of cardFields) form.clearFieldError(`cards.${field}`);
              }}
              choices={choices.cards}
              places={choices.cardsOn(form.values.node, form.values.cards.resource)}
              errors={form.errors}
            />
          </Stack>
        </Panel>
        <Folded fields={folded} errors={form.errors} opened={initial.mounts.length > 0}>
          <MoreOptions form={form} choices={choices} />
        </Folded>
        {origin && <Unseen fields={unseen(origin.body)} />}
        <Group justify="flex-end">
          <SaveTemplate
            kind="workspace"
            template={template}
            body={() => (form.validate().hasErrors ? undefined : templateOf(form.values, origin))}
          />
          {!template && (
            <Button type="submit" loading={sending.busy}>
              {t("workspaces.create")}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

/** What comes with the template and cannot be seen here. */
function Unseen({ fields }: { fields: string[] }) {
  const { t } = useTranslation();
  if (fields.length === 0) return null;
  return (
    <Text size="sm" c="dimmed">
      {t("templates.unseen", { fields: fields.join(", ") })}
    </Text>
  );
}
