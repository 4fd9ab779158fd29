import { List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { PolicyFinding } from "../api/agreed";
import { client, take } from "../api/client";
import { Loaded } from "../ui/states";
import { When } from "../ui/When";

/** What a policy would do now, before it does anything. */
export function PolicyPreview({ spec }: { spec: Record<string, unknown> }) {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: ["preview", spec],
    queryFn: () => take(client.POST("/api/v1/policies/preview", { body: spec } as never)),
    staleTime: 0,
  });
  return (
    <Loaded query={query} missing="route" rows={2}>
      {(answer) => {
        const items = (answer as { items: PolicyFinding[] }).items;
        if (items.length === 0) return <Text size="sm">{t("policies.nothing")}</Text>;
        return (
          <div>
            <Text size="sm" fw={600} mb="xs">
              {t("policies.would", { count: items.length })}
            </Text>
            <List size="sm" spacing={4}>
              {items.map((one) => (
                <List.Item key={`${one.kind}/${one.namespace}/${one.name}`}>
                  {one.kind} {one.name} {one.user && `(${one.user})`}: {one.action} · {one.reason}{" "}
                  {one.at && <When at={one.at} />}
                </List.Item>
              ))}
            </List>
          </div>
        );
      }}
    </Loaded>
  );
}
