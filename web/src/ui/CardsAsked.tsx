import { useTranslation } from "react-i18next";
import { cardTitle, formatAmount } from "./format";

export interface Cards {
  resource?: string;
  count?: number | null;
  share?: string | number | null;
  memory?: string | number | null;
  index?: number | null;
  indices?: number[] | null;
}

/** Numbers of the cards that were asked for; empty where any will do. */
export const numbersAsked = ({ index, indices }: Cards) =>
  (indices?.length ? indices : index == null ? [] : [index]).join(", ");

/** Cards that were asked for: two whole ones, a half, or some memory of one. */
export function useCardsText(): (cards: Cards | null | undefined) => string {
  const { t } = useTranslation();
  return (cards) => {
    if (!cards) return t("cards.none");
    const title = cardTitle(cards.resource ?? "nvidia.com/gpu");
    const numbers = numbersAsked(cards);
    const text = () => {
      if (cards.count) return `${cards.count} × ${title}`;
      if (cards.share) return t("cards.share", { share: formatAmount("", cards.share), title });
      if (cards.memory) return t("cards.memory", { memory: formatAmount("memory", cards.memory), title });
      return title;
    };
    return numbers ? `${text()} (${numbers})` : text();
  };
}

export function CardsAsked({ cards }: { cards: Cards | null | undefined }) {
  return <>{useCardsText()(cards)}</>;
}
