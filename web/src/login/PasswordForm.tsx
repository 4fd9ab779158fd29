import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";

interface Props {
  busy: boolean;
  onSubmit: (values: { name: string; password: string }) => void;
}

export function PasswordForm({ busy, onSubmit }: Props) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { name: "", password: "" },
    validate: {
      name: (value) => (value.trim() ? null : t("forms.required")),
      password: (value) => (value ? null : t("forms.required")),
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => onSubmit({ ...values, name: values.name.trim() }))} noValidate>
      <Stack>
        <TextInput
          label={t("login.name")}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          autoFocus
          {...form.getInputProps("name")}
        />
        <PasswordInput
          label={t("login.password")}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ "aria-label": t("login.show") }}
          {...form.getInputProps("password")}
        />
        <Button type="submit" loading={busy} fullWidth mt="xs">
          {t("actions.login")}
        </Button>
      </Stack>
    </form>
  );
}
