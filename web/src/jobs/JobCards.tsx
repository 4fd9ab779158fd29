import { useTranslation } from "react-i18next";
import type { JobView } from "../api/types";
import { cardTitle, formatAmount } from "../ui/format";

/** Whole cards of all Pods together. */
export function JobCards({ cards }: { cards: JobView["cards"] }) {
  const { t } = useTranslation();
  const kinds = Object.entries((cards ?? {}) as Record<string, string>);
  if (kinds.length === 0) return <>{t("cards.none")}</>;
  return (
    <>{kinds.map(([kind, amount]) => `${formatAmount(kind, amount)} × ${cardTitle(kind)}`).join(", ")}</>
  );
}
