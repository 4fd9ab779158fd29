// A state as icon and word: colour alone says nothing to many people.
import { Group, Text } from "@mantine/core";
import {
  IconAlertTriangle,
  IconBan,
  IconCalendarClock,
  IconCircleCheck,
  IconClockHour4,
  IconHourglassHigh,
  IconLoader2,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconSwitch3,
} from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import type { JobPhase, WorkspacePhase } from "../api/types";
import classes from "./ui.module.css";

export type Phase = WorkspacePhase | JobPhase;

const looks: Record<Phase, { icon: typeof IconBan; tone: "good" | "wait" | "bad" | "calm" | "busy" }> = {
  Running: { icon: IconPlayerPlay, tone: "good" },
  Completed: { icon: IconCircleCheck, tone: "good" },
  Pending: { icon: IconClockHour4, tone: "wait" },
  Prequeue: { icon: IconHourglassHigh, tone: "wait" },
  Preempted: { icon: IconSwitch3, tone: "wait" },
  Starting: { icon: IconLoader2, tone: "busy" },
  Restarting: { icon: IconRefresh, tone: "busy" },
  Completing: { icon: IconLoader2, tone: "busy" },
  Stopping: { icon: IconLoader2, tone: "busy" },
  Suspending: { icon: IconLoader2, tone: "busy" },
  Terminating: { icon: IconLoader2, tone: "busy" },
  Aborting: { icon: IconLoader2, tone: "busy" },
  Suspended: { icon: IconPlayerPause, tone: "calm" },
  Aborted: { icon: IconBan, tone: "calm" },
  Scheduled: { icon: IconCalendarClock, tone: "calm" },
  Failed: { icon: IconAlertTriangle, tone: "bad" },
};

const podPhases: Record<string, Phase> = { Running: "Running", Succeeded: "Completed", Failed: "Failed" };

/** The state of a Pod in the words for work. */
export const podPhase = (phase: string): Phase => podPhases[phase] ?? "Pending";

export function Status({ phase, size = "sm" }: { phase: Phase; size?: "sm" | "md" }) {
  const { t } = useTranslation();
  const look = looks[phase] ?? looks.Pending;
  return (
    <Group gap={6} wrap="nowrap" className={classes.status} data-tone={look.tone} data-phase={phase}>
      <look.icon size={size === "md" ? 18 : 16} stroke={2} aria-hidden />
      <Text component="span" size={size} fw={500} inherit={false}>
        {t(`phases.${phase}`)}
      </Text>
    </Group>
  );
}

/** The same for things that are either well or not. */
export function YesNo({ good, yes, no }: { good: boolean; yes: string; no: string }) {
  const Icon = good ? IconCircleCheck : IconAlertTriangle;
  return (
    <Group gap={6} wrap="nowrap" className={classes.status} data-tone={good ? "good" : "wait"}>
      <Icon size={16} stroke={2} aria-hidden />
      <Text component="span" size="sm" fw={500}>
        {good ? yes : no}
      </Text>
    </Group>
  );
}
