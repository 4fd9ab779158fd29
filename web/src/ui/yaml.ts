// YAML as far as pages need it: writing a manifest out of a form, and finding the line that a field stands on. Reading
// YAML is the portal's.

type Value = string | number | boolean | null | Value[] | { [key: string]: Value | undefined };

const plain = /^[A-Za-z_/.][A-Za-z0-9_./@-]*(:[A-Za-z0-9_.-]+)*$/;
const words = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"]);

function scalar(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  return plain.test(value) && !words.has(value.toLowerCase()) ? value : JSON.stringify(value);
}

const isScalar = (value: Value): value is string | number | boolean | null =>
  value === null || typeof value !== "object";

const isFlat = (value: Value): boolean => Array.isArray(value) && value.length > 0 && value.every(isScalar);

function write(value: Value, indent: string): string {
  if (isScalar(value)) return scalar(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return value
      .map((item) => {
        const text = write(item, `${indent}  `);
        return `${indent}- ${isScalar(item) ? text : text.trimStart()}`;
      })
      .join("\n");
  }
  const fields = Object.entries(value).filter((entry): entry is [string, Value] => entry[1] !== undefined);
  if (fields.length === 0) return "{}";
  return fields
    .map(([key, inner]) => {
      if (isScalar(inner)) return `${indent}${scalar(key)}: ${scalar(inner)}`;
      if (isFlat(inner))
        return `${indent}${scalar(key)}: [${(inner as Value[]).map((one) => scalar(one as string)).join(", ")}]`;
      const text = write(inner, `${indent}  `);
      return text === "{}" || text === "[]"
        ? `${indent}${scalar(key)}: ${text}`
        : `${indent}${scalar(key)}:\n${text}`;
    })
    .join("\n");
}

export function toYaml(value: unknown): string {
  return `${write(value as Value, "")}\n`;
}

interface Step {
  key?: string;
  index?: number;
}

function steps(path: string): Step[] {
  return [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, key, index]) =>
    index === undefined ? { key } : { index: Number(index) },
  );
}

const depth = (line: string) => line.length - line.trimStart().length;

/**
 * The line, from 1, that a field such as `spec.tasks[0].template` stands on in a manifest written in blocks; the nearest
 * that is above it where it is not there, and nothing where not even that is found.
 */
export function lineOf(text: string, path: string): number | undefined {
  const lines = text.split("\n");
  let found: number | undefined;
  let from = 0;
  let until = lines.length;
  let least = 0;
  for (const step of steps(path)) {
    const at =
      step.key === undefined
        ? item(lines, from, until, step.index ?? 0)
        : field(lines, from, until, least, step.key);
    if (at === undefined) return found;
    found = at.line + 1;
    from = at.from;
    least = at.least;
    until = at.until;
  }
  return found;
}

interface Place {
  line: number;
  from: number;
  until: number;
  least: number;
}

/** The lines from `from` on that stand deeper than `indent`. */
function end(lines: string[], from: number, until: number, indent: number, items: boolean): number {
  for (let line = from; line < until; line += 1) {
    const text = lines[line] ?? "";
    if (!text.trim() || text.trimStart().startsWith("#")) continue;
    const at = depth(text);
    // Items of a list may stand as deep as the key that they belong to.
    if (at < indent || (at === indent && !(items && text.trimStart().startsWith("- ")))) return line;
  }
  return until;
}

function field(lines: string[], from: number, until: number, least: number, key: string): Place | undefined {
  const pattern = new RegExp(`^["']?${key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}["']?\\s*:`);
  let indent: number | undefined;
  for (let line = from; line < until; line += 1) {
    const text = lines[line] ?? "";
    const bare = text.replace(
      /^(\s*)((?:- )+)/,
      (_, space: string, dash: string) => space + " ".repeat(dash.length),
    );
    if (!bare.trim() || bare.trimStart().startsWith("#")) continue;
    const at = depth(bare);
    if (at < least) continue;
    indent ??= at;
    if (at === indent && pattern.test(bare.trimStart())) {
      return { line, from: line + 1, until: end(lines, line + 1, until, at, true), least: at };
    }
  }
  return undefined;
}

function item(lines: string[], from: number, until: number, index: number): Place | undefined {
  let count = -1;
  let indent: number | undefined;
  for (let line = from; line < until; line += 1) {
    const text = lines[line] ?? "";
    if (!text.trimStart().startsWith("- ")) continue;
    indent ??= depth(text);
    if (depth(text) !== indent) continue;
    count += 1;
    if (count === index) {
      return { line, from: line, until: end(lines, line + 1, until, indent, false), least: indent + 2 };
    }
  }
  return undefined;
}
