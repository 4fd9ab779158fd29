import { NumberInput, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { changesOf } from "../work/actions";
import type { Work } from "../work/work";

/** For how long no clean-up touches a workspace. */
export function ProtectForm({ workspace, onClose }: { workspace: Work; onClose: () => void }) {
  const { t } = useTranslation();
  const form = useForm<{ hours: number | string }>({
    initialValues: { hours: 24 },
    validate: { hours: (value) => (value === "" ? t("forms.required") : null) },
  });
  const save = useSend(form, {
    run: ({ hours }) =>
      client.PUT("/api/v1/workspaces/{namespace}/{name}/protection", {
        params: { path: { namespace: workspace.namespace, name: workspace.name } },
        body: { hours: Number(hours) },
      }),
    done: t("workspaces.protected"),
    changes: changesOf({ kind: "workspaces", work: workspace }),
    onDone: onClose,
  });
  return (
    <SmallForm sending={save} submit={t("actions.save")} onBack={onClose}>
      <Text size="sm">{t("workspaces.protectText")}</Text>
      <NumberInput
        label={t("workspaces.protectHours")}
        min={0}
        allowDecimal={false}
        data-autofocus
        {...form.getInputProps("hours")}
      />
    </SmallForm>
  );
}
