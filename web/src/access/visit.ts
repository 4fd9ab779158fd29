// Leading to addresses that the portal names. They come from it and are its own or registered ones; that one of them is
// a script is still not left to it.

/** Whether an address leads to a place and runs nothing here. */
export function isPlace(address: string): boolean {
  try {
    return !["javascript:", "data:", "vbscript:", "blob:"].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

/** Goes to an address in a page that was opened for it, or in this one where the browser refused another. */
export function goTo(address: string, page: Window | null = null): void {
  if (!isPlace(address)) {
    page?.close();
    throw new Error(`the portal named an address that leads nowhere: ${address.slice(0, 80)}`);
  }
  if (!page) {
    window.location.assign(address);
    return;
  }
  // What is shown there must not reach back.
  page.opener = null;
  page.location.replace(address);
}
