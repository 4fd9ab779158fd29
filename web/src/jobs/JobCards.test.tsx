import { describe, expect, it } from "vitest";
import { show } from "../testing/render";
import { JobCards } from "./JobCards";

const gpu = "nvidia.com/gpu";
const text = (job: Parameters<typeof JobCards>[0]["job"]) =>
  show(<JobCards job={job} />).container.textContent;

describe("the cards of a job", () => {
  it("are whole ones of all Pods together", () => {
    expect(text({ cards: { [gpu]: "24" }, cardParts: [] })).toContain("24 × NVIDIA GPU");
  });

  it("are parts too, of one Pod or of each of several", () => {
    expect(text({ cards: {}, cardParts: [{ resource: gpu, pods: 1, share: "500m" }] })).toContain(
      "0.5 of one NVIDIA GPU",
    );
    const mixed = {
      cards: { [gpu]: "2" },
      cardParts: [{ resource: "huawei.com/Ascend910", pods: 3, memory: "8Gi" }],
    };
    expect(text(mixed)).toContain("2 × NVIDIA GPU, 3 × 8 GiB of one Ascend 910");
  });

  it("are none where none were asked for", () => {
    expect(text({ cards: {}, cardParts: [] })).toContain("No cards");
  });
});
