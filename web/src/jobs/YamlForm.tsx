import { Alert, Button, Group, Stack } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { sendText } from "../api/client";
import { asApiError } from "../api/error";
import type { JobView, TemplateView } from "../api/types";
import { SaveTemplate } from "../templates/SaveTemplate";
import { CodeEditor } from "../ui/CodeEditor";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";
import { lineOf, readYaml, type YamlFault } from "../ui/yaml";

interface Props {
  initial: string;
  /** The template that is changed; without, a job is submitted. */
  template?: TemplateView;
}

/** A manifest as people write it; what is wrong is shown at its line. */
export function YamlForm({ initial, template }: Props) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [text, setText] = useState(initial);
  const [fault, setFault] = useState<YamlFault>();
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
  /** What stands there; where it cannot be read, that is said and nothing is sent. */
  const read = () => {
    const found = readYaml(text);
    setFault("fault" in found ? found.fault : undefined);
    submit.reset();
    return "value" in found ? found.value : undefined;
  };
  const field = submit.error ? asApiError(submit.error).field : undefined;
  const line = fault ? fault.line : field && lineOf(text, field);
  const wrong = fault !== undefined || submit.error !== null;
  return (
    <Stack>
      {wrong && <Wrong error={submit.error} fault={fault} field={field} line={line || undefined} />}
      <CodeEditor
        label={t("jobs.yaml")}
        value={text}
        wrong={line || undefined}
        describedBy={wrong ? "yaml-error" : undefined}
        onChange={(next) => {
          setText(next);
          setFault(undefined);
          if (submit.error) submit.reset();
        }}
      />
      <Group justify="flex-end">
        <SaveTemplate kind="job" body={read} template={template} />
        {!template && (
          <Button loading={submit.isPending} onClick={() => read() && submit.mutate(text)}>
            {t("jobs.submit")}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

interface WrongProps {
  error: unknown;
  fault?: YamlFault;
  field?: string;
  line?: number;
}

function Wrong({ error, fault, field, line }: WrongProps) {
  const { t } = useTranslation();
  const said = useErrorText();
  const place = [field, line && t("jobs.line", { line })].filter(Boolean).join(", ");
  return (
    <Alert id="yaml-error" color="red" icon={<IconAlertCircle size={18} />} role="alert">
      {place && <strong>{place}: </strong>}
      {fault ? fault.message : said(error)}
    </Alert>
  );
}
