import { NativeSelect, NumberInput, Stack } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { Beside } from "../forms/Beside";
import type { useChoices } from "../forms/choices";
import { EnvInput } from "../forms/EnvInput";
import { MountsInput } from "../forms/MountsInput";
import type { JobValues } from "./form";

interface Props {
  form: UseFormReturnType<JobValues>;
  choices: ReturnType<typeof useChoices>;
}

export function MoreJobOptions({ form, choices }: Props) {
  const { t } = useTranslation();
  return (
    <Stack gap="lg" pt="xs">
      <MountsInput
        rows={form.values.mounts}
        volumes={choices.volumes}
        errors={form.errors}
        onChange={(rows) => form.setFieldValue("mounts", rows)}
      />
      <EnvInput
        rows={form.values.env}
        errors={form.errors}
        onChange={(rows) => form.setFieldValue("env", rows)}
      />
      <Beside>
        <NativeSelect
          label={t("fields.account")}
          description={t("forms.accountText")}
          data={[{ value: "", label: t("forms.defaultAccount") }, ...choices.accounts]}
          {...form.getInputProps("account")}
        />
        <NativeSelect
          label={t("fields.serviceLevel")}
          description={t("forms.serviceLevelText")}
          data={[
            { value: "", label: t("serviceLevels.Guaranteed") },
            { value: "BestEffort", label: t("serviceLevels.BestEffort") },
          ]}
          {...form.getInputProps("serviceLevel")}
        />
      </Beside>
      <Beside>
        <NativeSelect
          label={t("fields.pool")}
          data={[
            { value: "", label: t("forms.any") },
            ...choices.pools.map((value) => ({ value, label: value })),
          ]}
          {...form.getInputProps("pool")}
        />
        <NumberInput label={t("fields.priority")} allowDecimal={false} {...form.getInputProps("priority")} />
      </Beside>
      <Beside>
        <NumberInput
          label={t("forms.maxRun")}
          description={t("forms.maxRunJobText")}
          min={0}
          {...form.getInputProps("maxRunHours")}
        />
        <NumberInput
          label={t("forms.retries")}
          description={t("forms.retriesText")}
          min={0}
          max={1000}
          allowDecimal={false}
          {...form.getInputProps("retries")}
        />
      </Beside>
    </Stack>
  );
}
