import { Autocomplete, Checkbox, NativeSelect, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { profilesQuery } from "../api/shared";
import { withOwn } from "../forms/choices";
import { ListInput } from "../forms/ListInput";
import { usable, type WorkspaceValues } from "./form";

/** More rights that an administrator has granted, and folders of nodes that come with them. Most people have none. */
export function ProfileInput({ form }: { form: UseFormReturnType<WorkspaceValues> }) {
  const { t } = useTranslation();
  const { account, profile, hostPaths } = form.values;
  const profiles = usable(useQuery(profilesQuery).data?.items ?? [], account);
  const roots = profiles.find((one) => one.name === profile)?.hostPaths.map((one) => one.path) ?? [];
  if (profiles.length === 0 && !profile) return null;
  const names = profiles.map(({ name }) => ({ value: name, label: name }));
  return (
    <>
      <NativeSelect
        label={t("forms.profile")}
        description={t("forms.profileText")}
        data={[{ value: "", label: t("forms.noProfile") }, ...withOwn(names, profile)]}
        {...form.getInputProps("profile")}
      />
      {profile && (roots.length > 0 || hostPaths.length > 0) && (
        <ListInput
          title={t("forms.hostPaths")}
          text={t("forms.hostPathsText", { folders: roots.join(", ") })}
          add={t("forms.addHostPath")}
          rows={hostPaths}
          make={() => ({ hostPath: roots[0] ?? "", path: "/node", readOnly: false })}
          onChange={(rows) => form.setFieldValue("hostPaths", rows)}
        >
          {(_, index) => (
            <>
              <Autocomplete
                aria-label={t("forms.hostPath")}
                data={roots}
                {...form.getInputProps(`hostPaths.${index}.hostPath`)}
              />
              <TextInput
                aria-label={t("forms.path")}
                placeholder="/node"
                {...form.getInputProps(`hostPaths.${index}.path`)}
              />
              <Checkbox
                mt={8}
                label={t("forms.readOnly")}
                {...form.getInputProps(`hostPaths.${index}.readOnly`, { type: "checkbox" })}
              />
            </>
          )}
        </ListInput>
      )}
    </>
  );
}
