// What a change that the portal tells of does to what pages already hold. Pure: the cache is changed by live.ts.

export interface Change {
  topic: "workspace" | "job" | "node";
  namespace?: string;
  name: string;
  gone: boolean;
  item?: Record<string, unknown>;
}

/** Reads the data of an event; nothing if it makes no sense, as from a portal that is newer than the page. */
export function readChange(topic: Change["topic"], data: string): Change | undefined {
  try {
    const value = JSON.parse(data) as Record<string, unknown>;
    if (typeof value.name !== "string") return undefined;
    return {
      topic,
      name: value.name,
      namespace: typeof value.namespace === "string" ? value.namespace : undefined,
      gone: value.gone === true,
      item:
        typeof value.item === "object" && value.item !== null ? (value.item as Change["item"]) : undefined,
    };
  } catch {
    return undefined;
  }
}

type Row = { namespace: string; name: string };
export type ListPage = { items: Row[]; next?: string };

const isIt = (change: Change) => (row: Row) => row.name === change.name && row.namespace === change.namespace;

/**
 * Pages of a list after a change: the same object if nothing in them changes. `stale` says that the list has to be
 * read again, because something came that may belong into it, or counts beside the rows have changed.
 */
export function changeList<Page extends ListPage>(
  pages: Page[],
  change: Change,
): { pages: Page[]; stale: boolean } {
  const found = pages.some((page) => page.items.some(isIt(change)));
  if (!found) return { pages, stale: !change.gone };
  const changed = pages.map((page) => {
    if (!page.items.some(isIt(change))) return page;
    const items = change.gone
      ? page.items.filter((row) => !isIt(change)(row))
      : // The whole of it: what it no longer says, such as when it was to start, is over.
        page.items.map((row) => (isIt(change)(row) && change.item ? (change.item as Row) : row));
    return { ...page, items };
  });
  return { pages: changed, stale: true };
}

/** One object after a change: fields that are absent from the new view are gone, what only the detail has stays. */
export function changeOne<T extends Record<string, unknown>>(one: T, change: Change): T {
  if (!change.item) return one;
  const optional = [
    "reason",
    "message",
    "ready",
    "position",
    "estimatedStart",
    "node",
    "givenCards",
    "started",
    "ended",
    "cleanup",
    "protectedUntil",
  ];
  const kept = { ...one };
  for (const field of optional) if (!(field in change.item)) delete kept[field];
  return { ...kept, ...change.item };
}
