import { Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { JobView } from "../api/types";
import { say } from "../i18n/say";
import { cardTitle, formatAmount } from "../ui/format";
import { Status } from "../ui/Status";
import { Rows } from "../ui/Table";
import ui from "../ui/ui.module.css";
import { Lasting, When } from "../ui/When";

/** Whole cards of all Pods together. */
export function JobCards({ cards }: { cards: JobView["cards"] }) {
  const { t } = useTranslation();
  const kinds = Object.entries((cards ?? {}) as Record<string, string>);
  if (kinds.length === 0) return <>{t("cards.none")}</>;
  return (
    <>{kinds.map(([kind, amount]) => `${formatAmount(kind, amount)} × ${cardTitle(kind)}`).join(", ")}</>
  );
}

export function JobTable({ items, whose }: { items: JobView[]; whose: boolean }) {
  const { t } = useTranslation();
  const heads = [
    t("fields.name"),
    t("fields.state"),
    t("fields.type"),
    t("fields.ready"),
    t("fields.cards"),
    t("fields.lasted"),
    t("fields.created"),
  ];
  if (whose) heads.splice(1, 0, t("fields.user"));
  return (
    <Rows label={t("nav.jobs")} heads={heads}>
      {items.map((one) => (
        <Table.Tr key={`${one.namespace}/${one.name}`}>
          <Table.Td>
            <Link
              to="/jobs/$namespace/$name"
              params={{ namespace: one.namespace, name: one.name }}
              search={{ tab: undefined }}
              className={ui.rowLink}
            >
              {one.name}
            </Link>
          </Table.Td>
          {whose && <Table.Td>{one.user ?? "–"}</Table.Td>}
          <Table.Td>
            <Status phase={one.phase} />
            <Waiting job={one} />
          </Table.Td>
          <Table.Td>{t(`jobTypes.${one.type}`)}</Table.Td>
          <Table.Td>{one.ready ?? `0/${one.replicas}`}</Table.Td>
          <Table.Td>
            <JobCards cards={one.cards} />
          </Table.Td>
          <Table.Td>
            <Lasting from={one.started} until={one.ended} />
          </Table.Td>
          <Table.Td>
            <When at={one.created} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}

function Waiting({ job }: { job: JobView }) {
  const { t } = useTranslation();
  if (job.phase !== "Pending") return null;
  return (
    <Text size="xs" c="dimmed" lineClamp={1} maw={280}>
      {job.estimatedStart ? (
        <>
          {t("why.start")} <When at={job.estimatedStart} />
        </>
      ) : (
        say(job.message)
      )}
    </Text>
  );
}
