// What may be done with a template, as the portal decides it: pages leave out what it would refuse. Pure.
import type { Me, TemplateView } from "../api/types";

type User = Pick<Me, "platformAdmin" | "accounts">;
type Template = Pick<TemplateView, "mine" | "account">;

/** Changed and deleted by its owner, and once it is shared by those who keep order in the account. */
export function mayChange(me: User, { mine, account }: Template): boolean {
  return mine || (Boolean(account) && (me.platformAdmin || me.accounts[account ?? ""] === "admin"));
}

/**
 * The accounts that somebody may share a template with. Whom a template is for is its owner's choice: others leave it
 * where it is, or take it back to its owner.
 */
export function sharedWith(me: User, template: Template | undefined, all: string[]): string[] {
  const present = template?.account ? [template.account] : [];
  if (template && !template.mine) return present;
  const part = (account: string) => /^(member|admin)$/.test(me.accounts[account] ?? "");
  const may = me.platformAdmin ? all : Object.keys(me.accounts).filter(part);
  // The one it is shared with stays possible, also for who is no longer in it.
  return [...new Set([...may, ...present])];
}
