import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { ResourceMeter } from "../ui/Meter";
import { Panel } from "../ui/Panel";
import { useResourceTitle } from "../ui/resources";
import { Loaded } from "../ui/states";
import { quotaQuery } from "./queries";

/** How much I may have, and have. */
export function QuotaPanel() {
  const { t } = useTranslation();
  const title = useResourceTitle();
  const query = useQuery(quotaQuery);
  return (
    <Panel title={t("home.quota")} h="100%">
      <Loaded query={query} missing="route" rows={3}>
        {(quota) => {
          const limits = Object.entries(quota.limits as Record<string, string>);
          const used = quota.used as Record<string, string>;
          return (
            <Stack gap="md">
              {limits.map(([resource, total]) => (
                <ResourceMeter
                  key={resource}
                  resource={resource}
                  label={title(resource)}
                  used={used[resource]}
                  total={total}
                />
              ))}
              {limits.length === 0 && <Text size="sm">{t("home.noQuota")}</Text>}
              <Anchor component={Link} to="/settings" size="sm">
                {t("home.accounts")}
              </Anchor>
            </Stack>
          );
        }}
      </Loaded>
    </Panel>
  );
}
