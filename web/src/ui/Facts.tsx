import { Text } from "@mantine/core";
import type { ReactNode } from "react";

/** What is the case, as pairs of name and value. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode][] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" size="sm" m={0} className="numbers">
            {value}
          </Text>
        </div>
      ))}
    </dl>
  );
}
