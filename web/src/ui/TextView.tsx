import { Button, CopyButton, Group } from "@mantine/core";
import { IconCheck, IconCopy, IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { readText } from "../api/client";
import { Panel } from "./Panel";
import { Loaded } from "./states";
import classes from "./ui.module.css";

export function saveFile(name: string, text: string) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

export function CopyText({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          size="xs"
          variant="default"
          leftSection={copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          onClick={copy}
        >
          {copied ? t("actions.copied") : (label ?? t("actions.copy"))}
        </Button>
      )}
    </CopyButton>
  );
}

/** Text that the portal writes, such as a manifest: to read, copy and keep. */
export function TextView({ path, file, missing }: { path: string; file: string; missing?: "route" }) {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: ["text", path],
    queryFn: async ({ signal }) => {
      let text = "";
      await readText(path, (piece) => (text += piece), { signal });
      return text;
    },
  });
  return (
    <Loaded query={query} missing={missing}>
      {(text) => (
        <Panel p={0}>
          <Group justify="flex-end" p="xs" gap="xs">
            <CopyText text={text} />
            <Button
              size="xs"
              variant="default"
              leftSection={<IconDownload size={14} />}
              onClick={() => saveFile(file, text)}
            >
              {t("actions.download")}
            </Button>
          </Group>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <section className={`${classes.text} ${classes.mono}`} tabIndex={0} aria-label={file}>
            {text}
          </section>
        </Panel>
      )}
    </Loaded>
  );
}
