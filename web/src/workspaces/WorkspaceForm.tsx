// A new workspace on one calm page: what everybody needs first, the rest folded away with sensible defaults.
import { Accordion, Alert, Autocomplete, Button, Group, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconAlertCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { asApiError } from "../api/error";
import { CardsInput } from "../forms/CardsInput";
import { useChoices } from "../forms/choices";
import { useFaultTexts } from "../forms/useFaults";
import { SaveTemplate } from "../templates/SaveTemplate";
import { Panel } from "../ui/Panel";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";
import { faultsOf, fieldOf, requestOf, type WorkspaceValues } from "./form";
import { MoreOptions } from "./MoreOptions";
import { imagesQuery } from "./queries";

export function WorkspaceForm({ initial }: { initial: WorkspaceValues }) {
  const { t } = useTranslation();
  const said = useErrorText();
  const texts = useFaultTexts();
  const navigate = useNavigate();
  const choices = useChoices();
  const images = useQuery(imagesQuery).data?.items ?? [];
  const form = useForm<WorkspaceValues>({
    initialValues: initial,
    validate: (values) => texts(faultsOf(values)),
  });
  const create = useAction({
    quiet: true,
    run: (values: WorkspaceValues) => take(client.POST("/api/v1/workspaces", { body: requestOf(values) })),
    changes: [["workspaces", "list"]],
    onDone: ({ namespace, name }) =>
      void navigate({
        to: "/workspaces/$namespace/$name",
        params: { namespace, name },
        search: { tab: undefined },
      }),
  });
  const submit = form.onSubmit((values) =>
    create.mutate(values, {
      onError: (error) => {
        const field = fieldOf(asApiError(error).field);
        if (field) form.setFieldError(field, said(error));
      },
    }),
  );
  // What stands at a field need not be said twice.
  const general = create.error && !fieldOf(asApiError(create.error).field) ? create.error : undefined;
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="lg" maw={820}>
        {general && (
          <Alert color="red" icon={<IconAlertCircle size={18} />} role="alert">
            {said(general)} {asApiError(general).field && `(${asApiError(general).field})`}
          </Alert>
        )}
        <Panel title={t("workspaces.what")}>
          <Stack>
            <Group grow align="flex-start">
              <TextInput
                label={t("fields.name")}
                description={t("forms.nameRule")}
                required
                {...form.getInputProps("name")}
              />
              <NativeSelect
                label={t("fields.type")}
                description={t(`types.${form.values.type}Text`)}
                data={(["Terminal", "Jupyter", "CodeServer"] as const).map((value) => ({
                  value,
                  label: t(`types.${value}`),
                }))}
                {...form.getInputProps("type")}
              />
            </Group>
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
            <Group grow align="flex-start">
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
            </Group>
            <CardsInput
              value={form.values.cards}
              onChange={(cards) => form.setFieldValue("cards", cards)}
              choices={choices.cards}
              errors={form.errors}
            />
          </Stack>
        </Panel>
        <Accordion variant="separated" radius="lg" defaultValue={initial.mounts.length > 0 ? "more" : null}>
          <Accordion.Item value="more">
            <Accordion.Control>{t("forms.more")}</Accordion.Control>
            <Accordion.Panel>
              <MoreOptions form={form} choices={choices} />
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
        <Group justify="flex-end">
          <SaveTemplate kind="workspace" body={() => ({ ...requestOf(form.values), name: undefined })} />
          <Button type="submit" loading={create.isPending}>
            {t("workspaces.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
