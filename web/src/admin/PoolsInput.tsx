import { Autocomplete } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ListInput } from "../forms/ListInput";
import { nodesQuery } from "../heatmap/queries";

interface Props {
  rows: { name: string }[];
  error?: ReactNode;
  onChange: (rows: { name: string }[]) => void;
}

/** Pools of nodes that an account may use. */
export function PoolsInput({ rows, error, onChange }: Props) {
  const { t } = useTranslation();
  const known = [...new Set((useQuery(nodesQuery).data ?? []).flatMap((node) => node.pool ?? []))].sort();
  return (
    <ListInput
      title={t("accounts.pools")}
      text={t("accounts.poolsText")}
      add={t("accounts.addPool")}
      rows={rows}
      error={error}
      make={() => ({ name: "" })}
      onChange={onChange}
    >
      {(row, _, change) => (
        <Autocomplete
          aria-label={t("fields.pool")}
          data={known}
          value={row.name}
          onChange={(name) => change({ name })}
        />
      )}
    </ListInput>
  );
}
