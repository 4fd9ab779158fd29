import { Button, Group, NumberInput, Stack, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Policy } from "../api/agreed";
import { client, take } from "../api/client";
import { faultOfName } from "../forms/values";
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
  const form = useForm<PolicyValues>({
    initialValues: valuesOf(policy.name ?? "", policy.spec),
    validate: { name: (value) => (faultOfName(value, 50) ? t("faults.name") : null) },
  });
  const save = useAction({
    run: (values: PolicyValues) =>
      take(
        client.PUT("/api/v1/policies/{name}", {
          params: { path: { name: values.name } },
          body: specOf(values, policy.spec),
        } as never),
      ),
    done: t("policies.saved"),
    changes: [["policies"]],
    onDone,
  });
  return (
    <form onSubmit={form.onSubmit((values) => save.mutate(values))} noValidate>
      <Stack>
        <TextInput
          label={t("fields.name")}
          required
          disabled={policy.name !== undefined}
          {...form.getInputProps("name")}
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
        {preview && <PolicyPreview spec={preview} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => setPreview(specOf(form.values, policy.spec))}>
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
