import { Checkbox, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { accountsQuery } from "../api/shared";
import type { AccountChange, AccountDetail } from "../api/types";
import { Beside } from "../forms/Beside";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { faultOfName } from "../forms/values";
import { PoolsInput } from "./PoolsInput";
import { ResourcesInput } from "./ResourcesInput";
import { pairsOf, resourcesOf } from "./tree";

/** What is limited by count, too: nothing is kept free for a number of workspaces. */
const counted = new Set(["capability", "memberCapability"]);
const isWeight = (value: number | string) => Number.isInteger(Number(value)) && Number(value) >= 1;

/** Makes an account, or changes one. */
export function AccountForm({ account, onDone }: { account?: AccountDetail; onDone: () => void }) {
  const { t } = useTranslation();
  const others = (useQuery(accountsQuery).data?.items ?? []).filter((one) => one.name !== account?.name);
  // Weight, pools and the like are told only to administrators.
  const extras = (account ?? { weight: 1, everyone: false }) as Partial<AccountChange>;
  const form = useForm({
    initialValues: {
      name: account?.name ?? "",
      displayName: account?.displayName ?? "",
      parent: account?.parent ?? "",
      weight: (extras.weight ?? "") as number | string,
      everyone: (extras.everyone ?? null) as boolean | null,
      guaranteed: pairsOf(account?.guaranteed),
      deserved: pairsOf(account?.deserved),
      capability: pairsOf(account?.capability),
      memberCapability: pairsOf(extras.memberCapability),
      pools: (extras.pools ?? []).map((name) => ({ name })),
    },
    validate: {
      name: (value) => (faultOfName(value, 63) ? t("faults.name") : null),
      weight: (value) => (isWeight(value) || value === (extras.weight ?? "") ? null : t("faults.whole")),
    },
  });
  const sending = useSend(form, {
    run: (values) => {
      const all: AccountChange = {
        displayName: values.displayName,
        parent: values.parent,
        weight: Number(values.weight),
        everyone: values.everyone,
        guaranteed: resourcesOf(values.guaranteed),
        deserved: resourcesOf(values.deserved),
        capability: resourcesOf(values.capability),
        memberCapability: resourcesOf(values.memberCapability),
        pools: [...new Set(values.pools.map(({ name }) => name.trim()).filter(Boolean))],
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
    <SmallForm sending={sending} submit={t("actions.save")}>
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
      {(["guaranteed", "deserved", "capability", "memberCapability"] as const).map((field) => (
        <ResourcesInput
          key={field}
          title={t(`accounts.${field}`)}
          text={t(`accounts.${field}Text`)}
          rows={form.values[field]}
          error={form.errors[field]}
          others={counted.has(field) ? ["pods", "workspaces"] : undefined}
          onChange={(rows) => form.setFieldValue(field, rows)}
        />
      ))}
      <PoolsInput
        rows={form.values.pools}
        error={form.errors.pools}
        onChange={(rows) => form.setFieldValue("pools", rows)}
      />
      <Checkbox
        label={t("accounts.everyone")}
        checked={form.values.everyone === true}
        // An account that does not say so is not shown as if it did.
        indeterminate={form.values.everyone === null}
        error={form.errors.everyone}
        onChange={(event) => form.setFieldValue("everyone", event.currentTarget.checked)}
      />
    </SmallForm>
  );
}
