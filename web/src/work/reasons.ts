// Why work does not run, or will not for long, in the reader's words. Pure.
import type { TFunction } from "i18next";
import type { CleanupStatus } from "../api/types";
import { say } from "../i18n/say";
import type { Phase } from "../ui/Status";
import type { Kind } from "./work";

export interface Told {
  phase: Phase;
  reason?: string | null;
  message?: string | null;
  cleanup?: CleanupStatus | null;
  estimatedStart?: string | null;
}

/** What ends work that its owner does not end gives as its reason. */
const rules = {
  CleanedUpIdle: "Idle",
  CleanedUpLongRunning: "LongRunning",
  CleanedUpWaiting: "Waiting",
  CleanedUpNightly: "Nightly",
  MaxRunTimeExceeded: "MaxRun",
} as const;

/** Reasons that need no words: somebody pressed a button, or all went well. */
const wishes = ["Suspended", "Cancelled", "Succeeded"];

const waits: Phase[] = ["Pending", "Prequeue"];
const stands: Phase[] = [
  "Suspending",
  "Suspended",
  "Stopping",
  "Aborting",
  "Aborted",
  "Terminating",
  "Failed",
  "Completed",
  "Scheduled",
];

/** Why it stands still; nothing where it runs or waits, or where its owner wants it so. */
export function whyStopped(work: Told, t: TFunction): string | undefined {
  if (!stands.includes(work.phase)) return undefined;
  const rule = rules[work.reason as keyof typeof rules];
  if (rule) return t(`cleanup.ended.${rule}`);
  if (wishes.includes(work.reason ?? "")) return undefined;
  return work.message ? say(work.message) : (work.reason ?? undefined);
}

/** What a policy is about to do with it; what is being done shows as its state. */
export const warningOf = ({ cleanup }: Told) => (cleanup && !cleanup.ending ? cleanup : undefined);

export interface Line {
  text: string;
  /** When that is. */
  at?: string;
}

/** The one thing to know about it in a list; nothing where all is well. */
export function lineOf(kind: Kind, work: Told, t: TFunction): Line | undefined {
  const warning = warningOf(work);
  if (warning) return { text: t(`cleanup.soon.${kind}`), at: warning.endTime };
  if (waits.includes(work.phase)) {
    if (work.estimatedStart) return { text: t("why.start"), at: work.estimatedStart };
    return work.message ? { text: say(work.message) } : undefined;
  }
  const text = whyStopped(work, t);
  return text ? { text } : undefined;
}
