import { useTranslation } from "react-i18next";
import type { JobView } from "../api/types";
import { useCardsText } from "../ui/CardsAsked";
import { cardTitle, formatAmount } from "../ui/format";

/** Cards of all Pods together: whole ones, and what part of one so many Pods have each. */
export function JobCards({ job }: { job: Pick<JobView, "cards" | "cardParts"> }) {
  const { t } = useTranslation();
  const cardsText = useCardsText();
  const whole = Object.entries((job.cards ?? {}) as Record<string, string>).map(
    ([kind, amount]) => `${formatAmount(kind, amount)} × ${cardTitle(kind)}`,
  );
  const parts = (job.cardParts ?? []).map(({ pods, ...part }) => {
    const text = cardsText(part);
    return pods === 1 ? text : `${pods} × ${text}`;
  });
  return <>{[...whole, ...parts].join(", ") || t("cards.none")}</>;
}
