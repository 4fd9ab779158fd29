import { Button } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useMe } from "../app/session";
import { type Behind, offersOf, portsQuery, programOf, programTitle, readerOf } from "./ports";
import { useOpenPort } from "./useOpenPort";

/** Opens what the work was made for, if it is a program with pages and the reader may see them. */
export function OpenProgram({ kind, work }: Behind) {
  const { t } = useTranslation();
  const me = useMe();
  const open = useOpenPort(kind, work);
  const ports = useQuery(portsQuery(kind, work)).data;
  const program = programOf(work.type, ports?.items ?? []);
  if (!program?.name || ports?.served === false || !offersOf(program, readerOf(me, work)).open) return null;
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
