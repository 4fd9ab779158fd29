import { useTranslation } from "react-i18next";
import { cardTitle, formatAmount } from "./format";

interface Cards {
  resource?: string;
  count?: number | null;
  share?: string | number | null;
  memory?: string | number | null;
}

/** Cards that were asked for: two whole ones, a half, or some memory of one. */
export function useCardsText(): (cards: Cards | null | undefined) => string {
  const { t } = useTranslation();
  return (cards) => {
    if (!cards) return t("cards.none");
    const title = cardTitle(cards.resource ?? "nvidia.com/gpu");
    if (cards.count) return `${cards.count} × ${title}`;
    if (cards.share) return t("cards.share", { share: formatAmount("", cards.share), title });
    if (cards.memory) return t("cards.memory", { memory: formatAmount("memory", cards.memory), title });
    return title;
  };
}

export function CardsAsked({ cards }: { cards: Cards | null | undefined }) {
  return <>{useCardsText()(cards)}</>;
}
