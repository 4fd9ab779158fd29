import { Text } from "@mantine/core";
import type { ReactNode } from "react";

/** What is the case, as pairs of name and value. */
export function Facts({ facts, narrow }: { facts: [name: string, value: ReactNode][]; narrow?: boolean }) {
  return (
    <dl className="facts" data-narrow={narrow || undefined}>
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
