import { Button, Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { SessionView } from "../api/types";
import { Rows } from "../ui/Table";
import { useAction } from "../ui/useAction";
import { When } from "../ui/When";
import { agentTitle } from "./agent";

interface Props {
  items: (Omit<SessionView, "current"> & { current?: boolean; user?: string })[];
  /** Says whose they are, where they are not all of one user. */
  users?: boolean;
}

/** Where somebody is signed in; each can be ended. */
export function SessionTable({ items, users }: Props) {
  const { t } = useTranslation();
  const end = useAction({
    run: (id: string) => client.DELETE("/api/v1/sessions/{id}", { params: { path: { id } } }),
    done: t("sessions.ended"),
    changes: [["sessions"]],
  });
  // What is over is of no use to anybody here; the audit log keeps it.
  const open = items.filter((one) => !one.revoked && new Date(one.expires) > new Date());
  if (open.length === 0) return <Text size="sm">{t("sessions.none")}</Text>;
  const heads = [
    t("sessions.browser"),
    t("sessions.address"),
    t("sessions.lastSeen"),
    t("sessions.since"),
    "",
  ];
  return (
    <Rows label={t("sessions.title")} heads={users ? [t("fields.user"), ...heads] : heads}>
      {open.map((one) => (
        <Table.Tr key={one.id}>
          {users && <Table.Td fw={600}>{one.user}</Table.Td>}
          <Table.Td>
            <Text size="sm" title={one.agent ?? undefined}>
              {agentTitle(one.agent) ?? t("sessions.unknown")}
            </Text>
            <Text size="xs" c="dimmed">
              {one.provider}
            </Text>
          </Table.Td>
          <Table.Td>{one.address ?? "–"}</Table.Td>
          <Table.Td>
            <When at={one.lastSeen} />
          </Table.Td>
          <Table.Td>
            <When at={one.created} />
          </Table.Td>
          <Table.Td>
            {one.current ? (
              <Text size="sm" fw={600}>
                {t("sessions.this")}
              </Text>
            ) : (
              <Button size="xs" variant="subtle" color="red" onClick={() => end.mutate(one.id)}>
                {t("sessions.end")}
              </Button>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
