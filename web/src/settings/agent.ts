/** A browser and its system out of what it says of itself; nothing if it is not known. */
export function agentTitle(agent: string | null | undefined): string | undefined {
  if (!agent) return undefined;
  const browsers: [RegExp, string][] = [
    [/Edg\//, "Edge"],
    [/Firefox\//, "Firefox"],
    [/HeadlessChrome\/|Chrome\//, "Chrome"],
    [/Version\/.*Safari\//, "Safari"],
    [/^curl\//, "curl"],
  ];
  const systems: [RegExp, string][] = [
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Windows/, "Windows"],
    [/Mac OS X/, "macOS"],
    [/Linux/, "Linux"],
  ];
  const find = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(agent))?.[1];
  const [browser, system] = [find(browsers), find(systems)];
  return browser ? [browser, system].filter(Boolean).join(" · ") : agent.slice(0, 40);
}
