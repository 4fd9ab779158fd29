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
