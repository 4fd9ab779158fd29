import { Button, Checkbox, Group, NativeSelect, NumberInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { accountsQuery } from "../api/shared";
import type { AccountChange, AccountDetail } from "../api/types";
import { Beside } from "../forms/Beside";
import { useSend } from "../forms/useSend";
import { faultOfName } from "../forms/values";
import { ResourcesInput } from "./ResourcesInput";
import { pairsOf, resourcesOf } from "./tree";

/** Makes an account, or changes one. */
export function AccountForm({ account, onDone }: { account?: AccountDetail; onDone: () => void }) {
  const { t } = useTranslation();
  const others = (useQuery(accountsQuery).data?.items ?? []).filter((one) => one.name !== account?.name);
  const extras = (account ?? {}) as Partial<AccountChange>;
  const form = useForm({
    initialValues: {
      name: account?.name ?? "",
      displayName: account?.displayName ?? "",
      parent: account?.parent ?? "",
      weight: (extras.weight ?? 1) as number,
      everyone: extras.everyone ?? false,
      guaranteed: pairsOf(account?.guaranteed),
      deserved: pairsOf(account?.deserved),
      capability: pairsOf(account?.capability),
    },
    validate: { name: (value) => (faultOfName(value, 63) ? t("faults.name") : null) },
  });
  const sending = useSend(form, {
    run: (values) => {
      const all: AccountChange = {
        displayName: values.displayName,
        parent: values.parent,
        weight: values.weight,
        everyone: values.everyone,
        guaranteed: resourcesOf(values.guaranteed),
        deserved: resourcesOf(values.deserved),
        capability: resourcesOf(values.capability),
      };
      // Only what was touched: not everything that an account has can be seen here, and that must stay as it is.
      const body = Object.fromEntries(Object.entries(all).filter(([field]) => form.isDirty(field)));
      if (!account) return take(client.POST("/api/v1/accounts", { body: { ...body, name: values.name } }));
      return take(client.PUT("/api/v1/accounts/{name}", { params: { path: { name: account.name } }, body }));
    },
    done: t("accounts.saved"),
    changes: [["accounts"], ["me"]],
    onDone,
  });
  return (
    <form onSubmit={sending.onSubmit} noValidate>
      <Stack>
        {sending.problem}
        <Beside>
          <TextInput
            label={t("fields.name")}
            required
            disabled={account !== undefined}
            {...form.getInputProps("name")}
          />
          <TextInput label={t("settings.displayName")} {...form.getInputProps("displayName")} />
        </Beside>
        <Beside>
          <NativeSelect
            label={t("accounts.parent")}
            data={[
              { value: "", label: t("accounts.top") },
              ...others.map((one) => ({ value: one.name, label: one.displayName ?? one.name })),
            ]}
            {...form.getInputProps("parent")}
          />
          <NumberInput
            label={t("accounts.weight")}
            description={t("accounts.weightText")}
            min={1}
            allowDecimal={false}
            {...form.getInputProps("weight")}
          />
        </Beside>
        {(["guaranteed", "deserved", "capability"] as const).map((field) => (
          <ResourcesInput
            key={field}
            title={t(`accounts.${field}`)}
            text={t(`accounts.${field}Text`)}
            rows={form.values[field]}
            error={form.errors[field]}
            onChange={(rows) => form.setFieldValue(field, rows)}
          />
        ))}
        <Checkbox label={t("accounts.everyone")} {...form.getInputProps("everyone", { type: "checkbox" })} />
        <Group justify="flex-end">
          <Button type="submit" loading={sending.busy}>
            {t("actions.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
