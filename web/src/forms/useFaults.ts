import { useTranslation } from "react-i18next";
import type { Fault } from "./values";

/** Faults as sentences, under the names of their fields. */
export function useFaultTexts(): (faults: Record<string, Fault | undefined>) => Record<string, string> {
  const { t } = useTranslation();
  return (faults) =>
    Object.fromEntries(
      Object.entries(faults).flatMap(([field, fault]) => (fault ? [[field, t(`faults.${fault}`)]] : [])),
    );
}
