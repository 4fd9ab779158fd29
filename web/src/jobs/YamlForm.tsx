import { Alert, Button, Group, Stack } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { sendText } from "../api/client";
import { asApiError } from "../api/error";
import type { JobView } from "../api/types";
import { CodeEditor } from "../ui/CodeEditor";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";
import { lineOf } from "../ui/yaml";

/** A manifest as people write it; what the portal finds wrong is shown at its line. */
export function YamlForm({ initial }: { initial: string }) {
  const { t } = useTranslation();
  const said = useErrorText();
  const navigate = useNavigate();
  const [text, setText] = useState(initial);
  const submit = useAction({
    quiet: true,
    run: (yaml: string) => sendText("/api/v1/jobs", "application/yaml", yaml) as Promise<JobView>,
    changes: [["jobs", "list"]],
    onDone: ({ namespace, name }) =>
      void navigate({
        to: "/jobs/$namespace/$name",
        params: { namespace, name },
        search: { tab: undefined },
      }),
  });
  const field = submit.error ? asApiError(submit.error).field : undefined;
  const line = field ? lineOf(text, field) : undefined;
  return (
    <Stack>
      {submit.error && (
        <Alert id="yaml-error" color="red" icon={<IconAlertCircle size={18} />} role="alert">
          {field && (
            <strong>
              {field}
              {line && ` (${t("jobs.line", { line })})`}:{" "}
            </strong>
          )}
          {said(submit.error)}
        </Alert>
      )}
      <CodeEditor
        label={t("jobs.yaml")}
        value={text}
        wrong={line}
        describedBy={submit.error ? "yaml-error" : undefined}
        onChange={(next) => {
          setText(next);
          if (submit.error) submit.reset();
        }}
      />
      <Group justify="flex-end">
        <Button loading={submit.isPending} onClick={() => submit.mutate(text)}>
          {t("jobs.submit")}
        </Button>
      </Group>
    </Stack>
  );
}
