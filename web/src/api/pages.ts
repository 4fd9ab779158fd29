// Lists whose answers come in pages.

/** The most that the portal gives at once. */
const limit = 500;

interface Page<Item> {
  items: Item[];
  next?: string | null;
}

/** The whole of a list, however many pages it has: a choice or a count that stops somewhere is wrong. */
export async function wholeList<Item>(
  read: (query: { limit: number; cursor?: string }) => Promise<Page<Item>>,
): Promise<{ items: Item[] }> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit, cursor });
    items.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor);
  return { items };
}
