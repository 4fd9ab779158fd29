import { List, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { PolicySpec } from "../api/types";
import { Loaded } from "../ui/states";
import { When } from "../ui/When";

interface Props {
  account: string;
  /** A policy that is not there yet; that of the account if it is not said. */
  policy?: PolicySpec;
  /** Called when there is something to look at. */
  onShown?: () => void;
}

/** What a policy would do now, before it does anything. */
export function PolicyPreview({ account, policy, onShown }: Props) {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: ["preview", account, policy],
    queryFn: () => {
      const params = { query: { limit: 500 } };
      return take(client.POST("/api/v1/policies/preview", { params, body: { account, policy } }));
    },
    staleTime: 0,
    gcTime: 0,
  });
  const shown = query.isSuccess;
  useEffect(() => {
    if (shown) onShown?.();
  }, [shown, onShown]);
  return (
    <Loaded query={query} missing="route" rows={2}>
      {({ findings, total, cardUseKnown, leftAlone }) => (
        <Stack gap="xs">
          <Text size="sm" fw={600}>
            {total === 0 ? t("policies.nothing") : t("policies.would", { count: total })}
          </Text>
          <List size="sm" spacing={4}>
            {findings.map((one) => (
              <List.Item key={`${one.kind}/${one.namespace}/${one.name}`}>
                {one.name}: {t(`policies.actions.${one.action as "warn"}`)}
                {one.end && (
                  <>
                    {" "}
                    <When at={one.end} />
                  </>
                )}
                {" · "}
                {one.why}
              </List.Item>
            ))}
          </List>
          <Text size="sm" c="dimmed">
            {t("policies.leftAlone", { count: leftAlone })} {!cardUseKnown && t("policies.useUnknown")}
          </Text>
        </Stack>
      )}
    </Loaded>
  );
}
