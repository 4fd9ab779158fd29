import { NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { KubeconfigOffer } from "../api/types";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";

export interface MadeKubeconfig {
  device: string;
  kubeconfig: string;
}

interface Props {
  offer: KubeconfigOffer;
  onMade: (made: MadeKubeconfig) => void;
}

/** Whether a time was asked for; a sign-in by browser has none of its own. */
const asked = (mode: string, hours: number | string) => mode !== "oidc" && hours !== "";

export function NewKubeconfig({ offer, onMade }: Props) {
  const { t } = useTranslation();
  const longest = offer.longestHours ?? 8760;
  const form = useForm<{ mode: (typeof offer.modes)[number]; device: string; hours: number | string }>({
    initialValues: { mode: offer.modes[0] ?? "certificate", device: "", hours: "" },
    validate: {
      device: (value) => (value.trim() ? null : t("forms.required")),
      hours: (value, { mode }) =>
        mode === "oidc" || value === "" || (Number(value) >= 1 && Number(value) <= longest)
          ? null
          : t("policies.bounds", { least: 1, most: longest }),
    },
  });
  const make = useSend(form, {
    run: ({ mode, device, hours }) =>
      take(
        client.POST("/api/v1/me/kubeconfigs", {
          body: { mode, device: device.trim(), ...(asked(mode, hours) && { hours: Number(hours) }) },
        }),
      ),
    changes: [["kubeconfigs"]],
    onDone: ({ kubeconfig }, { device }) => onMade({ device: device.trim(), kubeconfig }),
  });
  return (
    <SmallForm sending={make} submit={t("kubeconfig.make")}>
      <TextInput
        label={t("kubeconfig.device")}
        description={t("kubeconfig.deviceText")}
        placeholder="laptop"
        required
        data-autofocus
        {...form.getInputProps("device")}
      />
      <NativeSelect
        label={t("kubeconfig.mode")}
        description={t(`kubeconfig.modeTexts.${form.values.mode}`)}
        data={offer.modes.map((value) => ({ value, label: t(`kubeconfig.modes.${value}`) }))}
        {...form.getInputProps("mode")}
      />
      {form.values.mode !== "oidc" && (
        <NumberInput
          label={t("kubeconfig.hours")}
          description={t("kubeconfig.hoursText")}
          allowDecimal={false}
          clampBehavior="none"
          {...form.getInputProps("hours")}
        />
      )}
    </SmallForm>
  );
}
