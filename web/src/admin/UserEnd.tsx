import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { UserView } from "../api/types";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { dayOf, endOfDay } from "../ui/format";

/** Until when a user may sign in. */
export function UserEnd({ user, onClose }: { user: UserView; onClose: () => void }) {
  const { t } = useTranslation();
  const form = useForm({ initialValues: { expires: dayOf(user.expires) } });
  const sending = useSend(form, {
    run: ({ expires }) =>
      client.PUT("/api/v1/users/{id}", {
        params: { path: { id: user.id } },
        // An empty text is how the portal is told that there is no end.
        body: { expires: expires ? endOfDay(expires) : "" },
      }),
    done: t("users.changed"),
    changes: [["users"]],
    onDone: onClose,
  });
  return (
    <SmallForm sending={sending} submit={t("actions.save")} onBack={onClose}>
      <TextInput
        label={t("users.expires")}
        description={t("users.expiresText")}
        type="date"
        data-autofocus
        {...form.getInputProps("expires")}
      />
    </SmallForm>
  );
}
