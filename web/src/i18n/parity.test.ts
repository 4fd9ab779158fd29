import { describe, expect, it } from "vitest";
import en from "./en.json";
import { closest } from "./index";
import zh from "./zh-CN.json";

type Tree = { [key: string]: string | Tree };

function flat(tree: Tree, prefix = ""): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(tree)) {
    const path = prefix + key;
    if (typeof value === "string") found.set(path, value);
    else for (const [inner, text] of flat(value, `${path}.`)) found.set(inner, text);
  }
  return found;
}

// Chinese has one form for every number, English two.
const form = (key: string) => key.replace(/_(one|other)$/, "");
const english = flat(en);
const chinese = flat(zh);

describe("texts", () => {
  it("are there in both languages", () => {
    const keys = (texts: Map<string, string>) => [...new Set([...texts.keys()].map(form))].sort();
    expect(keys(chinese)).toEqual(keys(english));
  });

  it("are never empty", () => {
    for (const [key, text] of [...english, ...chinese]) expect(text.trim(), key).not.toBe("");
  });

  it("name the same values", () => {
    const values = (text: string) => [...new Set(text.match(/{{\w+}}/g) ?? [])].sort();
    for (const [key, text] of english) {
      const other = chinese.get(key) ?? chinese.get(`${form(key)}_other`);
      // A singular may leave its number out.
      if (!key.endsWith("_one")) expect(values(other ?? ""), key).toEqual(values(text));
    }
  });

  it("are Chinese where they should be", () => {
    const same = [...english].filter(([key, text]) => chinese.get(key) === text && /[a-z]{4}/.test(text));
    // Names and examples are the same in both.
    const allowed = /^(app\.name|.*\.(example|placeholder)|types\..*|jobTypes\..*)/;
    expect(same.map(([key]) => key).filter((key) => !allowed.test(key))).toEqual([]);
  });
});

describe("the language of a browser", () => {
  it("is matched by its first part", () => {
    expect(closest(["fr", "zh-Hans-SG", "en"])).toBe("zh-CN");
    expect(closest(["en-GB"])).toBe("en");
    expect(closest(["fr"])).toBe("en");
  });
});
