import { NativeSelect, NumberInput, Stack, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { Beside } from "../forms/Beside";
import { type useChoices, withOwn } from "../forms/choices";
import { EnvInput } from "../forms/EnvInput";
import { ListInput } from "../forms/ListInput";
import { MountsInput } from "../forms/MountsInput";
import type { WorkspaceValues } from "./form";
import { ProfileInput } from "./ProfileInput";

interface Props {
  form: UseFormReturnType<WorkspaceValues>;
  choices: ReturnType<typeof useChoices>;
}

const named = (names: string[], chosen: string) =>
  withOwn(
    names.map((value) => ({ value, label: value })),
    chosen,
  );

/** What most people leave as it is. */
export function MoreOptions({ form, choices }: Props) {
  const { t } = useTranslation();
  const any = { value: "", label: t("forms.any") };
  return (
    <Stack gap="lg" pt="xs">
      <ListInput
        title={t("forms.ownVolumes")}
        text={t("forms.ownVolumesText")}
        add={t("forms.addVolume")}
        rows={form.values.volumes}
        make={() => ({ name: "home", path: "/home/user", size: "20Gi" })}
        onChange={(rows) => form.setFieldValue("volumes", rows)}
      >
        {(row, index, change) => (
          <>
            <TextInput
              aria-label={t("fields.name")}
              value={row.name}
              error={form.errors[`volumes.${index}.name`]}
              onChange={(event) => change({ name: event.currentTarget.value })}
            />
            <TextInput
              aria-label={t("forms.path")}
              value={row.path}
              error={form.errors[`volumes.${index}.path`]}
              onChange={(event) => change({ path: event.currentTarget.value })}
            />
            <TextInput
              aria-label={t("fields.size")}
              value={row.size}
              error={form.errors[`volumes.${index}.size`]}
              onChange={(event) => change({ size: event.currentTarget.value })}
            />
          </>
        )}
      </ListInput>
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
      <TextInput
        label={t("forms.command")}
        description={t("forms.commandText")}
        placeholder="sleep infinity"
        {...form.getInputProps("command")}
      />
      <Beside>
        <NativeSelect
          label={t("fields.pool")}
          data={[any, ...named(choices.pools, form.values.pool)]}
          {...form.getInputProps("pool")}
        />
        <NativeSelect
          label={t("fields.node")}
          data={[any, ...named(choices.nodes, form.values.node)]}
          {...form.getInputProps("node")}
        />
      </Beside>
      <Beside>
        <NativeSelect
          label={t("fields.account")}
          description={t("forms.accountText")}
          data={[
            { value: "", label: t("forms.defaultAccount") },
            ...withOwn(choices.accounts, form.values.account),
          ]}
          {...form.getInputProps("account")}
        />
        <NumberInput
          label={t("forms.maxRun")}
          description={t("forms.maxRunText")}
          min={0}
          {...form.getInputProps("maxRunHours")}
        />
      </Beside>
      <ProfileInput form={form} />
    </Stack>
  );
}
