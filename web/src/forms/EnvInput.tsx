import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ListInput } from "./ListInput";
import type { Pair } from "./values";

interface Props {
  rows: Pair[];
  onChange: (rows: Pair[]) => void;
  errors: Record<string, ReactNode>;
  path?: string;
}

export function EnvInput({ rows, onChange, errors, path = "env" }: Props) {
  const { t } = useTranslation();
  return (
    <ListInput
      title={t("forms.env")}
      add={t("forms.addEnv")}
      rows={rows}
      make={() => ({ name: "", value: "" })}
      onChange={onChange}
    >
      {(row, index, change) => (
        <>
          <TextInput
            aria-label={t("forms.envName")}
            placeholder="HF_HOME"
            value={row.name}
            error={errors[`${path}.${index}.name`]}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          <TextInput
            aria-label={t("forms.envValue")}
            placeholder={t("forms.envValue")}
            value={row.value}
            onChange={(event) => change({ value: event.currentTarget.value })}
          />
        </>
      )}
    </ListInput>
  );
}
