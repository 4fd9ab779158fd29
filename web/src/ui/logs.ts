// Lines of a log as they come, and those among them that are looked for. Pure.

/** The most that is kept: a page that follows for days must not fill the memory of the browser. */
export const mostLines = 20_000;

export interface Lines {
  whole: readonly string[];
  /** What came after the last end of a line. */
  rest: string;
  /** How many lines were let go at the beginning. */
  dropped: number;
}

export const noLines: Lines = { whole: [], rest: "", dropped: 0 };

// Colours of terminals mean nothing here. Escape is what such a sequence begins with.
// biome-ignore lint/suspicious/noControlCharactersInRegex: see above
const colours = /\u001b\[[0-9;]*[A-Za-z]/g;

export function append(lines: Lines, piece: string): Lines {
  const parts = (lines.rest + piece).replace(colours, "").split("\n");
  const rest = parts.pop() ?? "";
  const all = parts.length ? [...lines.whole, ...parts.map((line) => line.replace(/\r$/, ""))] : lines.whole;
  const over = Math.max(0, all.length - mostLines);
  return { whole: over ? all.slice(over) : all, rest, dropped: lines.dropped + over };
}

export function allLines(lines: Lines): string[] {
  return lines.rest ? [...lines.whole, lines.rest] : [...lines.whole];
}

/** Pieces of a line, every second of them what was looked for. */
export function split(line: string, search: string): string[] {
  if (!search) return [line];
  const pieces: string[] = [];
  const low = line.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
    pieces.push(line.slice(from, at), line.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  pieces.push(line.slice(from));
  return pieces;
}
