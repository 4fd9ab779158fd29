import { Anchor, Checkbox, NativeSelect, Text, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ListInput } from "./ListInput";
import type { MountValues } from "./values";

interface Props {
  rows: MountValues[];
  volumes: string[];
  onChange: (rows: MountValues[]) => void;
  errors: Record<string, ReactNode>;
}

/** Volumes that outlive the work they are mounted in. */
export function MountsInput({ rows, volumes, onChange, errors }: Props) {
  const { t } = useTranslation();
  if (volumes.length === 0 && rows.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t("forms.noVolumes")}{" "}
        <Anchor component={Link} to="/volumes" inherit>
          {t("forms.makeVolume")}
        </Anchor>
      </Text>
    );
  }
  return (
    <ListInput
      title={t("forms.mounts")}
      text={t("forms.mountsText")}
      add={t("forms.addMount")}
      rows={rows}
      make={() => ({ claim: volumes[0] ?? "", path: "/data", readOnly: false })}
      onChange={onChange}
    >
      {(row, index, change) => (
        <>
          <NativeSelect
            aria-label={t("forms.volume")}
            value={row.claim}
            data={[...new Set([...volumes, row.claim])]}
            error={errors[`mounts.${index}.claim`]}
            onChange={(event) => change({ claim: event.currentTarget.value })}
          />
          <TextInput
            aria-label={t("forms.path")}
            placeholder="/data"
            value={row.path}
            error={errors[`mounts.${index}.path`]}
            onChange={(event) => change({ path: event.currentTarget.value })}
          />
          <Checkbox
            mt={8}
            label={t("forms.readOnly")}
            checked={row.readOnly}
            onChange={(event) => change({ readOnly: event.currentTarget.checked })}
          />
        </>
      )}
    </ListInput>
  );
}
