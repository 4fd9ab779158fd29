// How long to wait before trying again: doubling, with a part left to chance so that a thousand pages that lost the same
// portal do not come back in the same moment.

export interface Backoff {
  firstMs: number;
  mostMs: number;
}

export function waitBefore(attempt: number, { firstMs, mostMs }: Backoff, chance: number): number {
  const whole = Math.min(mostMs, firstMs * 2 ** Math.max(0, attempt));
  return Math.round(whole / 2 + (whole / 2) * chance);
}
