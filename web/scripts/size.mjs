// Adds up what a browser loads before the first page stands, and fails when it is too much: the entry with everything
// it imports at once, its styles, and one language. The first page is part of the entry.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const most = 250_000;
const manifest = JSON.parse(readFileSync("dist/.vite/manifest.json", "utf8"));
const first = ["index.html", "src/i18n/en.json"];
// Chinese is larger than English or smaller: the larger of the two counts.
const languages = ["src/i18n/en.json", "src/i18n/zh-CN.json"];

const gzip = (file) => gzipSync(readFileSync(`dist/${file}`), { level: 9 }).length;

function reach(key, seen) {
  const chunk = manifest[key];
  if (!chunk)
    throw new Error(`${key} is not in the build: scripts/size.mjs has to be told what the first page is now`);
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const next of chunk.imports ?? []) reach(next, seen);
  return seen;
}

function total(keys) {
  const chunks = keys.reduce((seen, key) => reach(key, seen), new Set());
  const names = new Set(["index.html", "scheme.js"]);
  for (const key of chunks) {
    const chunk = manifest[key];
    names.add(chunk.file);
    for (const style of chunk.css ?? []) names.add(style);
  }
  return [...names].map((name) => [name, gzip(name)]);
}

const results = languages.map((language) =>
  total(first.map((key) => (key.endsWith(".json") ? language : key))),
);
const sum = (rows) => rows.reduce((all, [, size]) => all + size, 0);
const rows = results.reduce((a, b) => (sum(a) >= sum(b) ? a : b));
for (const [name, size] of rows.sort((a, b) => b[1] - a[1])) {
  console.log(`${String(size).padStart(8)}  ${name}`);
}
console.log(`${String(sum(rows)).padStart(8)}  bytes gzip before the first page stands, of at most ${most}`);
if (sum(rows) > most) {
  console.error("too much: load more of it lazily");
  process.exit(1);
}
