import { Button } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { WorkspaceDetail } from "../api/types";
import { useMe } from "../app/session";
import { offersOf, portsQuery, programOf, programTitle, readerOf } from "./ports";
import { useOpenPort } from "./useOpenPort";

/** Opens what the workspace was made for, if it is a program with pages and the reader may see them. */
export function OpenProgram({ workspace }: { workspace: WorkspaceDetail }) {
  const { t } = useTranslation();
  const me = useMe();
  const open = useOpenPort(workspace);
  const ports = useQuery(portsQuery(workspace)).data;
  const program = programOf(workspace.type, ports?.items ?? []);
  if (!program?.name || ports?.served === false || !offersOf(program, readerOf(me, workspace)).open)
    return null;
  return (
    <Button
      leftSection={<IconExternalLink size={18} />}
      loading={open.busy}
      onClick={() => open.run(program.port)}
    >
      {t("ports.openNamed", { name: programTitle(program.name) })}
    </Button>
  );
}
