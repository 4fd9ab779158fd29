import { useTranslation } from "react-i18next";
import type { JobView } from "../api/types";
import { type Cards, numbersAsked, useCardsText } from "../ui/CardsAsked";
import { cardTitle, formatAmount } from "../ui/format";

interface Numbered {
  name: string;
  cards?: Cards | null;
}

/** Numbers of cards that tasks ask for, each with its name where there are several. */
export function cardNumbers(tasks: Numbered[]): string {
  const said = tasks
    .map(({ name, cards }) => [name, cards ? numbersAsked(cards) : ""])
    .filter(([, one]) => one);
  return said.map(([name, one]) => (tasks.length === 1 ? one : `${name}: ${one}`)).join("; ");
}

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
