import { Button, Checkbox, Group, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { asApiError } from "../api/error";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";

interface Props {
  onMade: (made: { name: string; password: string }) => void;
}

export function NewUser({ onMade }: Props) {
  const { t } = useTranslation();
  const said = useErrorText();
  const form = useForm({
    initialValues: { name: "", displayName: "", email: "", platformAdmin: false, expires: "" },
    validate: {
      name: (value) => (/^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/.test(value) ? null : t("users.nameRule")),
    },
  });
  const create = useAction({
    quiet: true,
    run: ({ name, displayName, email, platformAdmin, expires }: typeof form.values) =>
      take(
        client.POST("/api/v1/users", {
          body: {
            name,
            platformAdmin,
            displayName: displayName || undefined,
            email: email || undefined,
            // A day ends at its end, where the administrator is.
            expires: expires ? new Date(`${expires}T23:59:59`).toISOString() : undefined,
          },
        }),
      ),
    changes: [["users"]],
    onDone: ({ password }, { name }) => onMade({ name, password }),
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
          description={t("users.nameRule")}
          required
          data-autofocus
          {...form.getInputProps("name")}
        />
        <TextInput label={t("settings.displayName")} {...form.getInputProps("displayName")} />
        <TextInput label={t("settings.email")} type="email" {...form.getInputProps("email")} />
        <TextInput
          label={t("users.expires")}
          description={t("users.expiresText")}
          type="date"
          {...form.getInputProps("expires")}
        />
        <Checkbox
          label={t("users.makeAdmin")}
          description={t("users.makeAdminText")}
          {...form.getInputProps("platformAdmin", { type: "checkbox" })}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            {t("users.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
