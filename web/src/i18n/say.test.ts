import { afterAll, describe, expect, it } from "vitest";
import { setLanguage } from ".";
import { say } from "./say";

afterAll(() => setLanguage("en"));

describe("sentences of the cluster", () => {
  it("begin as sentences do in English", async () => {
    await setLanguage("en");
    expect(say("its Pod waits for a node")).toBe("Its Pod waits for a node");
    expect(say(undefined)).toBe("");
  });

  it("are Chinese where they are known, and left alone where not", async () => {
    await setLanguage("zh-CN");
    expect(say("195 of the 400 Pods it needs to start are there and may be placed")).toBe(
      "启动需要 400 个 Pod，目前只有 195 个可以调度",
    );
    expect(
      say(
        "there is room for 1 of the 4 Pods that start together: of 3 nodes 2 are cordoned, 1 has too little cpu left",
      ),
    ).toBe("需要同时启动 4 个 Pod，目前只能容纳 1 个：3 个节点中，2 个已停止调度，1 个的 cpu 不足");
    expect(say("no node has room for it: the only node has a taint that it does not tolerate")).toBe(
      "没有节点能容纳它：唯一的节点带有它不能容忍的污点",
    );
    expect(say("14 nodes have no cards of the size asked for left.")).toBe("14 个节点没有符合要求的空闲卡");
    expect(say("1 node has a taint that it does not tolerate.")).toBe("1 个节点带有它不能容忍的污点");
    expect(say("2 nodes dance.")).toBe("2 nodes dance.");
    expect(say("something new")).toBe("something new");
  });

  it("say of a quota what it is, has and is asked for", async () => {
    const text =
      'create Pod a-195: pods "a-195" is forbidden: exceeded quota: maar-user, requested: pods=1,requests.cpu=2, used: pods=200,requests.cpu=3, limited: pods=200,requests.cpu=4 (403 Forbidden)';
    await setLanguage("en");
    expect(say(text)).toBe(
      "Your quota does not allow it: at most 200 pods, 200 are used, and this asks for 1; at most 4 cpu, 3 are used, and this asks for 2",
    );
    await setLanguage("zh-CN");
    expect(say(text)).toBe(
      "您的配额不足：pods 上限 200，已用 200，本次申请 1；cpu 上限 4，已用 3，本次申请 2",
    );
  });
});
