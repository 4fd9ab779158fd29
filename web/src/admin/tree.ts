// Accounts as the tree they are. Pure.
import type { AccountView } from "../api/types";

export interface Branch {
  account: AccountView;
  depth: number;
}

/** Accounts in the order of their tree. One whose parent cannot be seen, or that stands in a circle, is at the top. */
export function treeOf(accounts: AccountView[]): Branch[] {
  const names = new Set(accounts.map((one) => one.name));
  const below = new Map<string, AccountView[]>();
  for (const one of accounts) {
    const parent = one.parent && names.has(one.parent) ? one.parent : "";
    below.set(parent, [...(below.get(parent) ?? []), one]);
  }
  const found: Branch[] = [];
  const seen = new Set<string>();
  const visit = (account: AccountView, depth: number) => {
    if (seen.has(account.name)) return;
    seen.add(account.name);
    found.push({ account, depth });
    for (const child of below.get(account.name) ?? []) visit(child, depth + 1);
  };
  for (const account of below.get("") ?? []) visit(account, 0);
  for (const account of accounts) visit(account, 0);
  return found;
}

/** Pairs of a form as amounts of resources; those that were left empty are not said. */
export function resourcesOf(pairs: { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(
    pairs
      .map(({ name, value }) => [name.trim(), value.trim()] as const)
      .filter(([name, value]) => name && value),
  );
}

export const pairsOf = (resources: unknown) =>
  Object.entries((resources ?? {}) as Record<string, string>).map(([name, value]) => ({
    name,
    value: String(value),
  }));
