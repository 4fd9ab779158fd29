import { Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle, IconTimeline } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { EventView } from "../api/types";
import { Panel } from "./Panel";
import { Empty, Loaded } from "./states";
import classes from "./ui.module.css";
import { When } from "./When";

/** What happened, newest first. */
export function EventList({ query }: { query: UseQueryResult<EventView[]> }) {
  const { t } = useTranslation();
  return (
    <Loaded query={query}>
      {(events) =>
        events.length === 0 ? (
          <Empty icon={IconTimeline} title={t("events.none")}>
            {t("events.noneText")}
          </Empty>
        ) : (
          <Panel>
            <Stack gap="md" component="ol" m={0} p={0} className="plain">
              {events.map((event) => (
                <OneEvent key={`${event.kind}/${event.name}/${event.reason}/${event.at}`} event={event} />
              ))}
            </Stack>
          </Panel>
        )
      }
    </Loaded>
  );
}

function OneEvent({ event }: { event: EventView }) {
  const { t } = useTranslation();
  const warning = event.type === "Warning";
  const Icon = warning ? IconAlertTriangle : IconInfoCircle;
  return (
    <Group component="li" wrap="nowrap" align="flex-start" gap="sm">
      <span className={classes.status} data-tone={warning ? "wait" : "calm"}>
        <Icon size={18} aria-label={warning ? t("events.warning") : t("events.normal")} />
      </span>
      <div>
        <Text size="sm">
          <Text span fw={600}>
            {event.reason}
          </Text>{" "}
          {event.message}
        </Text>
        <Text size="xs" c="dimmed">
          {event.kind} {event.name} · <When at={event.at} />
          {event.count > 1 && ` · ${t("events.times", { count: event.count })}`}
        </Text>
      </div>
    </Group>
  );
}
