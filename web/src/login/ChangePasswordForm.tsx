import { Button, PasswordInput, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import { asApiError } from "../api/error";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";
import { faultOf } from "./passwords";

interface Props {
  name: string;
  onDone: () => void;
}

export function ChangePasswordForm({ name, onDone }: Props) {
  const { t } = useTranslation();
  const said = useErrorText();
  const form = useForm({
    initialValues: { current: "", next: "", again: "" },
    validate: (values) => {
      const fault = faultOf(values, name);
      return {
        current: values.current ? null : t("forms.required"),
        next: fault && fault !== "differs" ? t(`password.${fault}`) : null,
        again: fault === "differs" ? t("password.differs") : null,
      };
    },
  });
  const change = useAction({
    quiet: true,
    run: (values: { current: string; next: string }) =>
      client.PUT("/api/v1/me/password", { body: { current: values.current, new: values.next } }),
    onDone: () => {
      form.reset();
      onDone();
    },
  });
  const submit = form.onSubmit((values) =>
    change.mutate(values, {
      onError: (error) => {
        const { field } = asApiError(error);
        const wrong = field === "current" ? t("password.wrong") : said(error);
        form.setFieldError(field === "current" ? "current" : "next", wrong);
      },
    }),
  );
  const show = { "aria-label": t("login.show") };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <PasswordInput
          label={t("password.current")}
          autoComplete="current-password"
          visibilityToggleButtonProps={show}
          {...form.getInputProps("current")}
        />
        <PasswordInput
          label={t("password.next")}
          description={t("password.rule")}
          autoComplete="new-password"
          visibilityToggleButtonProps={show}
          {...form.getInputProps("next")}
        />
        <PasswordInput
          label={t("password.again")}
          autoComplete="new-password"
          visibilityToggleButtonProps={show}
          {...form.getInputProps("again")}
        />
        <Button type="submit" loading={change.isPending}>
          {t("password.change")}
        </Button>
      </Stack>
    </form>
  );
}
