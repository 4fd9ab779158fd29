// What is said of work beside its state: that a policy is about to end it, or why it does not run.
import { Alert, Text, type TextProps } from "@mantine/core";
import { IconAlertTriangle, IconClockExclamation, IconPlayerPause } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { When } from "../ui/When";
import { lineOf, type Told, warningOf, whyStopped } from "./reasons";
import type { Kind } from "./work";

interface Props {
  kind: Kind;
  work: Told;
}

/** A policy is about to end it: when, and why. */
export function CleanupWarning({ kind, work }: Props) {
  const { t } = useTranslation();
  const warning = warningOf(work);
  if (!warning) return null;
  return (
    <Alert color="orange" icon={<IconClockExclamation size={20} />} title={t(`cleanup.title.${kind}`)}>
      {t(`cleanup.${warning.rule}`, { account: warning.account })} <When at={warning.endTime} />
      <Text size="sm" mt={4}>
        {t(`cleanup.help.${kind}`)}
      </Text>
    </Alert>
  );
}

/** Why it does not run, and what is true of everything that rests like this. */
export function StoppedNote({ work, rest }: { work: Told; rest?: string }) {
  const { t } = useTranslation();
  const why = whyStopped(work, t);
  if (!why && !rest) return null;
  const failed = work.phase === "Failed";
  return (
    <Alert
      color={failed ? "red" : "gray"}
      icon={failed ? <IconAlertTriangle size={20} /> : <IconPlayerPause size={20} />}
      title={t(`phases.${work.phase}`)}
    >
      {why && <Text size="sm">{why}</Text>}
      {rest && <Text size="sm">{rest}</Text>}
    </Alert>
  );
}

/** The one thing to know about it, in a line of a list. */
export function NoteLine({ kind, work, ...look }: Props & TextProps) {
  const { t } = useTranslation();
  const line = lineOf(kind, work, t);
  if (!line) return null;
  return (
    <Text c="dimmed" title={line.text} {...look}>
      {line.text} {line.at && <When at={line.at} />}
    </Text>
  );
}
