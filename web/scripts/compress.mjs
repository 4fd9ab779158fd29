// Writes .br and .gz beside every file of dist that is worth it, so that the portal compresses nothing while it serves.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const kinds = new Set([".js", ".css", ".html", ".svg", ".json", ".txt"]);
// Below this the headers cost more than is saved.
const smallest = 512;

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else yield path;
  }
}

let count = 0;
for (const path of files("dist")) {
  if (!kinds.has(extname(path)) || statSync(path).size < smallest) continue;
  const bytes = readFileSync(path);
  const packed = {
    ".br": brotliCompressSync(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
    ".gz": gzipSync(bytes, { level: 9 }),
  };
  for (const [ending, content] of Object.entries(packed)) {
    if (content.length < bytes.length) writeFileSync(path + ending, content);
    else rmSync(path + ending, { force: true });
  }
  count += 1;
}
console.log(`compressed ${count} files`);
