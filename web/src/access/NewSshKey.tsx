import { Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { endOfDay } from "../ui/format";
import { commentOf, faultOfKey } from "./ssh";

export function NewSshKey({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { key: "", title: "", expires: "" },
    validate: (values) => {
      const fault = faultOfKey(values.key);
      return {
        ...(fault ? { key: t(`ssh.faults.${fault}`) } : {}),
        ...(values.title.trim() || commentOf(values.key) ? {} : { title: t("forms.required") }),
      };
    },
  });
  const add = useSend(form, {
    run: ({ key, title, expires }) =>
      take(
        client.POST("/api/v1/me/ssh-keys", {
          body: {
            key: key.trim(),
            title: title.trim() || commentOf(key),
            expires: expires ? endOfDay(expires) : undefined,
          },
        }),
      ),
    done: t("ssh.added"),
    changes: [["ssh-keys"]],
    onDone,
  });
  return (
    <SmallForm sending={add} submit={t("ssh.add")}>
      <Textarea
        label={t("ssh.key")}
        description={t("ssh.keyText")}
        placeholder="ssh-ed25519 AAAA… ada@laptop"
        required
        autosize
        minRows={3}
        maxRows={8}
        spellCheck={false}
        data-autofocus
        {...form.getInputProps("key")}
      />
      <TextInput
        label={t("ssh.title")}
        description={t("ssh.titleText")}
        placeholder={commentOf(form.values.key)}
        {...form.getInputProps("title")}
      />
      <TextInput
        label={t("ssh.expires")}
        description={t("ssh.expiresText")}
        type="date"
        {...form.getInputProps("expires")}
      />
    </SmallForm>
  );
}
