import { describe, expect, it } from "vitest";
import {
  cardTitle,
  formatAmount,
  formatBytes,
  formatDuration,
  formatRelative,
  givenTitle,
  modelTitle,
  parseQuantity,
  percentOf,
} from "./format";

describe("amounts", () => {
  it("reads what Kubernetes writes", () => {
    const table: [string, number | undefined][] = [
      ["2", 2],
      ["500m", 0.5],
      ["1.5", 1.5],
      ["4Gi", 4 * 2 ** 30],
      ["1e3", 1000],
      ["2E", 2e18],
      ["100k", 100_000],
      ["", undefined],
      ["Gi", undefined],
      ["4 GB", undefined],
      ["1Kb", undefined],
    ];
    for (const [text, want] of table) expect(parseQuantity(text), text).toBe(want);
  });

  it("shows each resource in its own unit", () => {
    expect(formatAmount("memory", "17179869184")).toBe("16 GiB");
    expect(formatAmount("requests.storage", "20Gi")).toBe("20 GiB");
    expect(formatAmount("cpu", "1500m")).toBe("1.5");
    expect(formatAmount("nvidia.com/gpu", "8")).toBe("8");
    expect(formatAmount("nvidia.com/gpu", undefined)).toBe("0");
    expect(formatAmount("cpu", "odd")).toBe("odd");
  });

  it("keeps bytes short", () => {
    expect(formatBytes(0)).toBe("0 B");
    expect(formatBytes(1536)).toBe("1.5 KiB");
    expect(formatBytes(80 * 2 ** 30)).toBe("80 GiB");
  });

  it("divides by nothing without harm", () => {
    expect(percentOf(1, 0)).toBe(0);
    expect(percentOf(3, 4)).toBe(75);
    expect(percentOf(9, 4)).toBe(100);
  });
});

describe("times", () => {
  it("tells the two largest units", () => {
    expect(formatDuration(0, "en")).toBe("0 sec");
    expect(formatDuration(59, "en")).toBe("59 sec");
    expect(formatDuration(7505, "en")).toBe("2 hr 5 min");
    expect(formatDuration(86_400, "en")).toBe("1 day");
    expect(formatDuration(86_400 + 61, "en")).toBe("1 day");
    expect(formatDuration(7505, "zh-CN")).toBe("2小时 5分钟");
  });

  it("tells how long ago and how soon", () => {
    const now = new Date("2026-01-01T12:00:00Z");
    const at = (seconds: number) => formatRelative(new Date(now.getTime() + seconds * 1000), now, "en");
    expect(at(0)).toBe("now");
    expect(at(-180)).toBe("3 minutes ago");
    expect(at(7200)).toBe("in 2 hours");
    expect(at(7190)).toBe("in 2 hours");
    expect(at(-86_400)).toBe("yesterday");
  });
});

describe("cards", () => {
  it("have names that people use", () => {
    expect(cardTitle("nvidia.com/gpu")).toBe("NVIDIA GPU");
    expect(cardTitle("vendor.example/npu")).toBe("npu");
    expect(modelTitle("NVIDIA-A100-SXM4-80GB")).toBe("A100 SXM4 80GB");
    expect(modelTitle("Tesla-T4-SHARED")).toBe("Tesla T4");
    expect(modelTitle("huawei-Ascend910")).toBe("Ascend910");
    expect(modelTitle(undefined)).toBeUndefined();
    expect(givenTitle("nvidia.com/gpu=2,3")).toBe("NVIDIA GPU 2, 3");
    expect(givenTitle("nvidia.com/gpu=2:0.5;a/b=1")).toBe("NVIDIA GPU 2 (0.5); b 1");
    expect(givenTitle(undefined)).toBe("–");
  });
});
