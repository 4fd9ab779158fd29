import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { AccountQuota } from "../api/types";
import { ResourceMeter } from "../ui/Meter";
import { Panel } from "../ui/Panel";
import { inOrder, useResourceTitle } from "../ui/resources";
import { Loaded } from "../ui/states";
import { quotaQuery } from "./queries";

type Amounts = Record<string, string>;

/** What an account has of what it may have, and I of what it lets me have; nothing where nothing is said. */
function OfAccount({ account }: { account: AccountQuota }) {
  const { t } = useTranslation();
  const title = useResourceTitle();
  const meters = (limits: unknown, used: unknown, label: (what: string) => string) =>
    inOrder(Object.entries((limits ?? {}) as Amounts)).map(([resource, total]) => (
      <ResourceMeter
        key={label(resource)}
        resource={resource}
        label={label(resource)}
        used={((used ?? {}) as Amounts)[resource]}
        total={total}
      />
    ));
  const { name } = account;
  const all = [
    ...meters(account.capability, account.used, (what) => t("home.ofAccount", { name, what: title(what) })),
    ...meters(account.cap, account.mine, (what) => t("home.mineOfAccount", { name, what: title(what) })),
  ];
  if (all.length === 0) return null;
  return (
    <Stack gap="md">
      <Text size="sm" fw={600}>
        <Anchor
          component={Link}
          to="/admin/accounts/$account/overview"
          params={{ account: name } as never}
          inherit
        >
          {name}
        </Anchor>
      </Text>
      {all}
    </Stack>
  );
}

/** How much I may have, and have. */
export function QuotaPanel() {
  const { t } = useTranslation();
  const title = useResourceTitle();
  const query = useQuery(quotaQuery);
  return (
    <Panel title={t("home.quota")} h="100%">
      <Loaded query={query} missing="route" rows={3}>
        {(quota) => {
          const limits = inOrder(Object.entries(quota.limits as Record<string, string>));
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
              {quota.accounts.map((one) => (
                <OfAccount key={one.name} account={one} />
              ))}
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
