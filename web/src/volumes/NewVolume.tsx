import { Checkbox, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { SmallForm } from "../forms/SmallForm";
import { useFaultTexts } from "../forms/useFaults";
import { useSend } from "../forms/useSend";
import { faultOfAmount, faultOfName } from "../forms/values";

export function NewVolume({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const texts = useFaultTexts();
  const form = useForm({
    initialValues: { name: "", size: "20Gi", storageClass: "", shared: false },
    validate: (values) => {
      const faults = { name: faultOfName(values.name, 50), size: faultOfAmount(values.size) };
      return texts(faults);
    },
  });
  const sending = useSend(form, {
    run: ({ name, size, storageClass, shared }) =>
      take(
        client.POST("/api/v1/volumes", {
          body: { name, size, storageClass: storageClass || null, shared },
        }),
      ),
    done: t("volumes.created"),
    changes: [["volumes"]],
    onDone,
  });
  return (
    <SmallForm sending={sending} submit={t("volumes.create")}>
      <TextInput
        label={t("fields.name")}
        description={t("forms.nameRule")}
        required
        data-autofocus
        {...form.getInputProps("name")}
      />
      <TextInput
        label={t("fields.size")}
        description={t("volumes.sizeText")}
        required
        {...form.getInputProps("size")}
      />
      <TextInput
        label={t("volumes.class")}
        description={t("volumes.classText")}
        {...form.getInputProps("storageClass")}
      />
      <Checkbox
        label={t("volumes.shared")}
        description={t("volumes.sharedText")}
        {...form.getInputProps("shared", { type: "checkbox" })}
      />
    </SmallForm>
  );
}
