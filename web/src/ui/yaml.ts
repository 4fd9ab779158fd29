// Manifests as people write them: made out of a form, read, and the line that a field stands on.
import { type Document, isMap, isScalar, isSeq, LineCounter, parseDocument, stringify } from "yaml";

export function toYaml(value: unknown): string {
  // In the older dialect more words mean something, so that more are quoted: then it does not matter who reads it.
  return stringify(value, { version: "1.1", lineWidth: 0 });
}

export interface YamlFault {
  line: number | undefined;
  message: string;
}

/** What a manifest says, or where it cannot be read. */
export function readYaml(text: string): { value: Record<string, unknown> } | { fault: YamlFault } {
  const document = parseDocument(text);
  const [error] = document.errors;
  // The place stands behind the message in brackets or lines of its own, and is shown by the editor.
  if (error) {
    const message = error.message.split(/ at line \d+/)[0] ?? error.message;
    return { fault: { line: error.linePos?.[0].line, message } };
  }
  if (!isMap(document.contents)) return { fault: { line: 1, message: "not a manifest: key: value" } };
  return { value: document.toJS() as Record<string, unknown> };
}

/**
 * The line, from 1, that a field such as `spec.tasks[0].template` stands on; that of the nearest above where it is not
 * there, and nothing where not even that is found.
 */
export function lineOf(text: string, path: string): number | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const at = placeOf(document, path);
  return at === undefined ? undefined : lines.linePos(at).line;
}

function placeOf(document: Document.Parsed, path: string): number | undefined {
  let node: unknown = document.contents;
  let found: number | undefined;
  for (const [, key, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    if (isMap(node)) {
      const pair = node.items.find((one) => isScalar(one.key) && String(one.key.value) === key);
      if (!pair || !isScalar(pair.key)) return found;
      found = pair.key.range?.[0];
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(index)] as { range?: [number, number, number] } | undefined;
      if (!item) return found;
      found = item.range?.[0];
      node = item;
    } else {
      return found;
    }
  }
  return found;
}
