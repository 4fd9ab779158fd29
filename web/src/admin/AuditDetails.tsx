import { Code, SimpleGrid, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Facts } from "../ui/Facts";
import { formatMoment } from "../ui/format";

export interface AuditEntry {
  id: string;
  at: string;
  actor: { kind: string; name: string; via?: string };
  action: string;
  objectKind: string;
  objectName: string;
  account?: string;
  outcome: "done" | "denied" | "failed" | "unknown";
  detail?: string;
  before?: unknown;
  after?: unknown;
  address?: string;
  requestId?: string;
}

/** One entry in full, with what was before and after side by side. */
export function AuditDetails({ entry }: { entry: AuditEntry }) {
  const { t, i18n } = useTranslation();
  const sides = [
    [t("audit.before"), entry.before],
    [t("audit.after"), entry.after],
  ] as const;
  return (
    <Stack gap="md" py="xs">
      <Facts
        facts={[
          [t("audit.code"), entry.action],
          [t("audit.when"), formatMoment(new Date(entry.at), i18n.language)],
          [t("audit.via"), [entry.actor.kind, entry.actor.via].filter(Boolean).join(" · ")],
          [t("sessions.address"), entry.address ?? "–"],
          [t("fields.account"), entry.account ?? "–"],
          [t("audit.request"), entry.requestId ?? "–"],
          [t("audit.detail"), entry.detail ?? "–"],
        ]}
      />
      {(entry.before !== undefined || entry.after !== undefined) && (
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          {sides.map(([title, value]) => (
            <div key={title}>
              <Text size="sm" c="dimmed" mb={4}>
                {title}
              </Text>
              <Code block>{value === undefined ? "–" : JSON.stringify(value, null, 2)}</Code>
            </div>
          ))}
        </SimpleGrid>
      )}
    </Stack>
  );
}
