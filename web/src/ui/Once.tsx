import { Alert, Button, Code, Group, Stack } from "@mantine/core";
import { IconAlertTriangle, IconDownload } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { CopyText, saveFile } from "./TextView";

interface Props {
  /** That it is shown this once, and what it opens. */
  warning: string;
  text: string;
  /** The name of a file to keep it in, where people keep it so. */
  file?: string;
  onKept: () => void;
}

/** A secret that was just made and that nobody can show again. */
export function Once({ warning, text, file, onKept }: Props) {
  const { t } = useTranslation();
  return (
    <Stack>
      <Alert color="yellow" icon={<IconAlertTriangle size={18} />}>
        {warning}
      </Alert>
      <Code block mah={320} style={{ overflow: "auto" }} tabIndex={0}>
        {text}
      </Code>
      <Group justify="space-between">
        <Group gap="xs">
          {file && (
            <Button
              size="xs"
              leftSection={<IconDownload size={14} />}
              onClick={() => saveFile(file.replace(/[^\w.-]+/g, "-"), text)}
            >
              {t("actions.download")}
            </Button>
          )}
          <CopyText text={text} />
        </Group>
        <Button variant={file ? "default" : "filled"} onClick={onKept}>
          {t("keys.kept")}
        </Button>
      </Group>
    </Stack>
  );
}
