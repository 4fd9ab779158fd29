import { Checkbox, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { endOfDay } from "../ui/format";

interface Props {
  onMade: (made: { name: string; password: string }) => void;
}

export function NewUser({ onMade }: Props) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { name: "", displayName: "", email: "", platformAdmin: false, expires: "" },
    validate: {
      name: (value) => (/^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/.test(value) ? null : t("users.nameRule")),
    },
  });
  const sending = useSend(form, {
    run: ({ name, displayName, email, platformAdmin, expires }) =>
      take(
        client.POST("/api/v1/users", {
          body: {
            name,
            platformAdmin,
            displayName: displayName || undefined,
            email: email || undefined,
            expires: expires ? endOfDay(expires) : undefined,
          },
        }),
      ),
    changes: [["users"]],
    onDone: ({ password }, { name }) => onMade({ name, password }),
  });
  return (
    <SmallForm sending={sending} submit={t("users.create")}>
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
    </SmallForm>
  );
}
