import { Button, Group, NativeSelect, NumberInput, Stack, Switch } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { accountsQuery } from "../api/shared";
import type { Policy, PolicySpec } from "../api/types";
import { Panel } from "../ui/Panel";
import { useAction } from "../ui/useAction";
import { PolicyPreview } from "./PolicyPreview";
import { type PolicyValues, specOf, valuesOf } from "./policy";

const rules = {
  longRunning: ["batchHours", "interactiveHours", "warnHours"],
  idle: ["windowMinutes", "percent", "warnMinutes"],
  waiting: ["minutes", "warnMinutes"],
} as const;

export function PolicyForm({ policy, onDone }: { policy: Partial<Policy>; onDone: () => void }) {
  const { t } = useTranslation();
  const [preview, setPreview] = useState<Record<string, unknown>>();
  const accounts = useQuery(accountsQuery).data?.items ?? [];
  const form = useForm<PolicyValues>({
    initialValues: valuesOf(policy.account ?? "", policy.policy),
    validate: { account: (value) => (value ? null : t("forms.required")) },
  });
  const save = useAction({
    run: (values: PolicyValues) =>
      take(
        client.PUT("/api/v1/policies/{name}", {
          params: { path: { name: values.account } },
          body: specOf(values, policy.policy),
        } as never),
      ),
    done: t("policies.saved"),
    changes: [["policies"]],
    onDone,
  });
  return (
    <form onSubmit={form.onSubmit((values) => save.mutate(values))} noValidate>
      <Stack>
        <NativeSelect
          label={t("fields.account")}
          description={t("policies.accountText")}
          required
          disabled={policy.account !== undefined}
          data={[
            { value: "", label: t("policies.chooseAccount") },
            ...accounts.map((one) => ({ value: one.name, label: one.displayName ?? one.name })),
          ]}
          {...form.getInputProps("account")}
        />
        {(Object.keys(rules) as (keyof typeof rules)[]).map((kind) => (
          <Panel key={kind} p="md">
            <Switch
              label={t(`policies.${kind}`)}
              {...form.getInputProps(`${kind}.on`, { type: "checkbox" })}
            />
            {form.values[kind].on && (
              <Group grow mt="sm" align="flex-end">
                {rules[kind].map((field) => (
                  <NumberInput
                    key={field}
                    label={t(`policies.fields.${field}`)}
                    min={0}
                    allowDecimal={false}
                    {...form.getInputProps(`${kind}.${field}`)}
                  />
                ))}
              </Group>
            )}
          </Panel>
        ))}
        {preview && form.values.account && (
          <PolicyPreview account={form.values.account} policy={preview as PolicySpec} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => setPreview(specOf(form.values, policy.policy))}>
            {t("policies.preview")}
          </Button>
          <Button type="submit" loading={save.isPending}>
            {t("actions.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
