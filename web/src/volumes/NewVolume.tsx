import { Button, Checkbox, Group, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { asApiError } from "../api/error";
import { useFaultTexts } from "../forms/useFaults";
import { type Fault, faultOfAmount, faultOfName } from "../forms/values";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";

export function NewVolume({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const said = useErrorText();
  const texts = useFaultTexts();
  const form = useForm({
    initialValues: { name: "", size: "20Gi", storageClass: "", shared: false },
    validate: (values) => {
      const faults = { name: faultOfName(values.name, 50), size: faultOfAmount(values.size) };
      const wrong = Object.entries(faults).filter(
        (entry): entry is [string, Fault] => entry[1] !== undefined,
      );
      return texts(Object.fromEntries(wrong));
    },
  });
  const create = useAction({
    quiet: true,
    run: ({ name, size, storageClass, shared }: typeof form.values) =>
      take(
        client.POST("/api/v1/volumes", {
          body: { name, size, storageClass: storageClass || undefined, shared } as never,
        }),
      ),
    done: t("volumes.created"),
    changes: [["volumes"]],
    onDone,
  });
  const submit = form.onSubmit((values) =>
    create.mutate(values, {
      onError: (error) => {
        const { field } = asApiError(error);
        form.setFieldError(field && field in values ? field : "name", said(error));
      },
    }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("fields.name")}
          description={t("forms.nameRule")}
          required
          data-autofocus
          {...form.getInputProps("name")}
        />
        <TextInput
          label={t("fields.size")}
          description={t("volumes.sizeText")}
          required
          {...form.getInputProps("size")}
        />
        <TextInput
          label={t("volumes.class")}
          description={t("volumes.classText")}
          {...form.getInputProps("storageClass")}
        />
        <Checkbox
          label={t("volumes.shared")}
          description={t("volumes.sharedText")}
          {...form.getInputProps("shared", { type: "checkbox" })}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            {t("volumes.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
