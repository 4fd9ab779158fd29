// A moment as people say it, with the whole of it and its zone on hover.
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { formatDuration, formatMoment, formatRelative } from "./format";

/** The time, told again so often that what is shown stays true. */
export function useNow(everyMs = 30_000): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function When({ at, none = "–" }: { at: string | null | undefined; none?: string }) {
  const { i18n } = useTranslation();
  const now = useNow();
  if (!at) return <span>{none}</span>;
  const moment = new Date(at);
  return (
    <time dateTime={at} title={formatMoment(moment, i18n.language)}>
      {formatRelative(moment, now, i18n.language)}
    </time>
  );
}

/** How long something has been going on, or went on. */
export function Lasting({ from, until }: { from?: string | null; until?: string | null }) {
  const { i18n } = useTranslation();
  const now = useNow(10_000);
  if (!from) return <span>–</span>;
  const end = until ? new Date(until) : now;
  return (
    <span className="lasting">
      {formatDuration((end.getTime() - new Date(from).getTime()) / 1000, i18n.language)}
    </span>
  );
}
