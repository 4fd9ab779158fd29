import { Checkbox, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { Scope } from "../api/types";
import { useMe } from "../app/session";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";

const scopes = [
  ["workspaces:read", "workspacesRead"],
  ["workspaces:write", "workspacesWrite"],
  ["jobs:read", "jobsRead"],
  ["jobs:write", "jobsWrite"],
  ["cluster:read", "clusterRead"],
  ["admin", "admin"],
] as const satisfies readonly [Scope, string][];

export function NewKey({ onMade }: { onMade: (secret: string) => void }) {
  const { t } = useTranslation();
  const me = useMe();
  const form = useForm({
    initialValues: { name: "", days: "90", scopes: ["workspaces:read", "jobs:read"] as string[] },
    validate: {
      name: (value) => (value.trim() ? null : t("forms.required")),
      scopes: (value) => (value.length ? null : t("keys.needScope")),
    },
  });
  const sending = useSend(form, {
    run: (values) =>
      take(
        client.POST("/api/v1/me/keys", {
          body: { name: values.name.trim(), scopes: values.scopes as Scope[], days: Number(values.days) },
        }),
      ),
    changes: [["keys"]],
    onDone: ({ secret }) => onMade(secret),
  });
  const offered = scopes.filter(([scope]) => scope !== "admin" || me.platformAdmin);
  return (
    <SmallForm sending={sending} submit={t("keys.create")}>
      <TextInput
        label={t("keys.name")}
        description={t("keys.nameText")}
        required
        data-autofocus
        {...form.getInputProps("name")}
      />
      <Checkbox.Group
        label={t("keys.scopes")}
        description={t("keys.scopesText")}
        {...form.getInputProps("scopes")}
      >
        <Stack gap="xs" mt="xs">
          {offered.map(([scope, name]) => (
            <Checkbox key={scope} value={scope} label={t(`scopes.${name}`)} />
          ))}
        </Stack>
      </Checkbox.Group>
      <NativeSelect
        label={t("keys.days")}
        data={["7", "30", "90", "365"].map((value) => ({
          value,
          label: t("keys.daysCount", { count: Number(value) }),
        }))}
        {...form.getInputProps("days")}
      />
    </SmallForm>
  );
}
