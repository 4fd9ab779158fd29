import { useTranslation } from "react-i18next";

type Words = Record<string, string>;

/** What actions and kinds of things are called by people; one that is not known here keeps the name that the log has. */
export function useAuditWords() {
  const { t, i18n } = useTranslation();
  const actions: Words = t("audit.actions", { returnObjects: true });
  const kinds: Words = t("audit.kinds", { returnObjects: true });
  return {
    action: (name: string) => actions[name] ?? name,
    kind: (name: string) => kinds[name] ?? name,
    /** All of them, to choose from. */
    actions: Object.entries(actions)
      .map(([value, label]) => ({ value, label }))
      .sort((a, b) => a.label.localeCompare(b.label, i18n.language)),
  };
}

/** The query that the fields of the filter mean; days are those of the reader. */
export function auditQuery(filter: Record<string, string>): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [field, value] of Object.entries(filter)) {
    const text = value.trim();
    if (!text) continue;
    if (field !== "from" && field !== "until") query[field] = text;
    else {
      const day = new Date(`${text}T00:00:00`);
      if (field === "until") day.setDate(day.getDate() + 1);
      query[field] = day.toISOString();
    }
  }
  return query;
}
