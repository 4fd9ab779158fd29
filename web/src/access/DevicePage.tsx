import { Alert, Button, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { asApiError } from "../api/error";
import { Frame } from "../login/Frame";
import { Loaded } from "../ui/states";
import { useAction } from "../ui/useAction";
import { Asking } from "./Asking";

/** Signs in a program on a machine that has no browser, by the code that it shows. */
export function DevicePage() {
  const { t } = useTranslation();
  const { code } = useSearch({ from: "/asking/device" });
  const [typed, setTyped] = useState<string>();
  return (
    <Frame title={t("device.title")} text={t("device.text")}>
      {typed ? (
        <Decide code={typed} onOther={() => setTyped(undefined)} />
      ) : (
        // A code that came by a link is not taken at once: who asks for it to be compared gets it compared.
        <CodeForm initial={code ?? ""} onCode={setTyped} />
      )}
    </Frame>
  );
}

/** A code as it was made, however it was typed. */
export const tidy = (code: string) => code.toUpperCase().replace(/\s+/g, "");

function CodeForm({ initial, onCode }: { initial: string; onCode: (code: string) => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { code: initial },
    validate: { code: (value) => (/^[A-Z0-9-]{4,20}$/.test(tidy(value)) ? null : t("device.fault")) },
  });
  return (
    <form onSubmit={form.onSubmit(({ code }) => onCode(tidy(code)))} noValidate>
      <Stack>
        <TextInput
          label={t("device.code")}
          description={t("device.codeText")}
          placeholder="ABCD-EFGH"
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          autoFocus
          {...form.getInputProps("code")}
        />
        <Button type="submit">{t("device.go")}</Button>
      </Stack>
    </form>
  );
}

function Decide({ code, onOther }: { code: string; onOther: () => void }) {
  const { t } = useTranslation();
  const path = { code };
  const query = useQuery({
    queryKey: ["device", code],
    gcTime: 0,
    queryFn: () => take(client.GET("/api/v1/device/{code}", { params: { path } })),
  });
  const decide = useAction({
    run: (approve: boolean) => client.POST("/api/v1/device/{code}", { params: { path }, body: { approve } }),
  });
  if (decide.isSuccess) {
    const approved = decide.variables;
    return (
      <Alert
        color={approved ? "teal" : "gray"}
        icon={approved ? <IconCircleCheck size={20} /> : <IconCircleX size={20} />}
        title={approved ? t("device.approved") : t("device.denied")}
        role="status"
      >
        {approved ? t("device.approvedText") : t("device.deniedText")}
      </Alert>
    );
  }
  const unknown = query.error && asApiError(query.error).code === "notFound";
  return (
    <Stack>
      {unknown ? (
        <Alert color="red" icon={<IconCircleX size={20} />} role="alert">
          {t("device.unknown", { code })}
        </Alert>
      ) : (
        <Loaded query={query} rows={3}>
          {(asking) => (
            <Asking
              asking={asking}
              warning={t("device.warning", { code })}
              busy={decide.isPending}
              onDecide={decide.mutate}
            />
          )}
        </Loaded>
      )}
      <Button variant="subtle" size="compact-sm" onClick={onOther}>
        {t("device.other")}
      </Button>
    </Stack>
  );
}
