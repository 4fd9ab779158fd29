import { describe, expect, it } from "vitest";
import { allLines, append, mostLines, noLines, split } from "./logs";

describe("lines of a log", () => {
  it("are whole however they were cut on the way", () => {
    const pieces = ["one\ntw", "o\r\n", "\u001b[31mred\u001b[0m", "\n", "end"];
    expect(allLines(pieces.reduce(append, noLines))).toEqual(["one", "two", "red", "end"]);
  });

  it("are let go at the beginning when there are too many", () => {
    const many = append(noLines, "x\n".repeat(mostLines + 5));
    expect(many.whole.length).toBe(mostLines);
    expect(many.dropped).toBe(5);
  });
});

describe("what is looked for", () => {
  it("is found in letters of any case", () => {
    expect(split("An Error, an ERROR.", "error")).toEqual(["An ", "Error", ", an ", "ERROR", "."]);
    expect(split("nothing", "error")).toEqual(["nothing"]);
    expect(split("all", "")).toEqual(["all"]);
  });
});
