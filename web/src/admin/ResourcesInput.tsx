import { Autocomplete, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { cardChoices } from "../forms/choices";
import { ListInput } from "../forms/ListInput";
import { faultOfAmount, type Pair } from "../forms/values";
import { nodesQuery } from "../heatmap/queries";

interface Props {
  title: string;
  text?: string;
  rows: Pair[];
  error?: ReactNode;
  onChange: (rows: Pair[]) => void;
  /** What can be said besides cards, cores and memory. */
  others?: string[];
}

/** Amounts of resources. */
export function ResourcesInput({ title, text, rows, error, onChange, others = [] }: Props) {
  const { t } = useTranslation();
  const kinds = cardChoices(useQuery(nodesQuery).data ?? []).map((one) => one.resource);
  return (
    <ListInput
      title={title}
      text={text}
      add={t("accounts.addAmount")}
      rows={rows}
      error={error}
      make={() => ({ name: kinds[0] ?? "cpu", value: "" })}
      onChange={onChange}
    >
      {(row, _, change) => (
        <>
          <Autocomplete
            aria-label={t("accounts.resource")}
            data={[...kinds, "cpu", "memory", ...others]}
            value={row.name}
            onChange={(name) => change({ name })}
          />
          <TextInput
            aria-label={t("accounts.amount")}
            value={row.value}
            error={row.value && faultOfAmount(row.value) ? t("faults.quantity") : undefined}
            onChange={(event) => change({ value: event.currentTarget.value })}
          />
        </>
      )}
    </ListInput>
  );
}
