import {
  Button,
  Chip,
  Group,
  Input,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  TextInput,
} from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { accountsQuery } from "../api/shared";
import type { Policy, PolicySpec } from "../api/types";
import { useSend } from "../forms/useSend";
import { jobTypes } from "../jobs/form";
import { Panel } from "../ui/Panel";
import { PolicyPreview } from "./PolicyPreview";
import { boundsBroken, kinds, type PolicyValues, type Rule, rules, specOf, valuesOf } from "./policy";

export function PolicyForm({ policy, onDone }: { policy: Partial<Policy>; onDone: () => void }) {
  const { t } = useTranslation();
  const [preview, setPreview] = useState<PolicySpec>();
  const accounts = useQuery(accountsQuery).data?.items ?? [];
  const form = useForm<PolicyValues>({
    initialValues: valuesOf(policy.account ?? "", policy.policy),
    validate: (values) => ({
      ...(values.account ? {} : { account: t("forms.required") }),
      ...Object.fromEntries(
        Object.entries(boundsBroken(values)).map(([field, [least, most]]) => [
          field,
          t("policies.bounds", { least, most }),
        ]),
      ),
    }),
    // What is shown has to be what is there now.
    onValuesChange: () => setPreview(undefined),
  });
  const spec = () => specOf(form.values, policy.policy) as unknown as PolicySpec;
  const save = useSend(form, {
    run: ({ account }) =>
      take(client.PUT("/api/v1/policies/{name}", { params: { path: { name: account } }, body: spec() })),
    done: t("policies.saved"),
    changes: [["policies"]],
    onDone,
    fieldOf: (field) =>
      field in form.errors || kinds.some((kind) => field.startsWith(`${kind}.`)) ? field : undefined,
  });
  return (
    <form onSubmit={save.onSubmit} noValidate>
      <Stack>
        {save.problem}
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
        {kinds.map((kind) => (
          <RuleInput key={kind} form={form} kind={kind} />
        ))}
        {preview && <PolicyPreview account={form.values.account} policy={preview} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => !form.validate().hasErrors && setPreview(spec())}>
            {t("policies.preview")}
          </Button>
          <Button type="submit" loading={save.busy}>
            {t("actions.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type Field = { [Kind in Rule]: keyof (typeof rules)[Kind] }[Rule];

/** One rule, with its numbers while it is on. */
function RuleInput({ form, kind }: { form: UseFormReturnType<PolicyValues>; kind: Rule }) {
  const { t } = useTranslation();
  const fields = Object.keys(rules[kind]) as Field[];
  return (
    <Panel p="md">
      <Switch label={t(`policies.${kind}`)} {...form.getInputProps(`${kind}.on`, { type: "checkbox" })} />
      {form.values[kind].on && (
        <Group grow mt="sm" align="flex-start">
          {fields.map((field) => (
            <NumberInput
              key={field}
              label={t(`policies.fields.${field}`)}
              allowDecimal={false}
              clampBehavior="none"
              {...form.getInputProps(`${kind}.${field}` as "idle.percent")}
            />
          ))}
        </Group>
      )}
      {kind === "nightly" && form.values.nightly.on && (
        <Group grow mt="sm" align="flex-start">
          <TextInput label={t("policies.at")} placeholder="23:00" {...form.getInputProps("nightly.at")} />
          <TextInput
            label={t("policies.timeZone")}
            placeholder="Asia/Shanghai"
            {...form.getInputProps("nightly.timeZone")}
          />
        </Group>
      )}
      {kind === "waiting" && form.values.waiting.on && (
        <Input.Wrapper label={t("policies.types")} description={t("policies.typesText")} mt="sm">
          <Chip.Group multiple {...form.getInputProps("waiting.types")}>
            <Group gap="xs" mt={6} role="group" aria-label={t("policies.types")}>
              {jobTypes.map((type) => (
                <Chip key={type} value={type} size="xs" variant="outline">
                  {t(`jobTypes.${type}`)}
                </Chip>
              ))}
            </Group>
          </Chip.Group>
        </Input.Wrapper>
      )}
    </Panel>
  );
}
