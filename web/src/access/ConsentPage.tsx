import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { Frame } from "../login/Frame";
import { Loaded } from "../ui/states";
import { useAction } from "../ui/useAction";
import { Asking } from "./Asking";
import { goTo } from "./visit";

/** Another site wants to know who somebody is. */
export function ConsentPage() {
  const { t } = useTranslation();
  const { id } = useParams({ strict: false }) as { id: string };
  const path = { id };
  const query = useQuery({
    queryKey: ["consents", id],
    gcTime: 0,
    queryFn: () => take(client.GET("/api/v1/consents/{id}", { params: { path } })),
  });
  const decide = useAction({
    run: (approve: boolean) =>
      take(client.POST("/api/v1/consents/{id}", { params: { path }, body: { approve } })),
    onDone: ({ redirect }) => goTo(redirect),
  });
  // Sites that are trusted need no consent, only somebody who is signed in.
  const goesOn = query.data?.needed === false;
  const { mutate } = decide;
  useEffect(() => {
    if (goesOn) mutate(true);
  }, [goesOn, mutate]);
  return (
    <Frame title={t("asking.consent")} text={t("asking.consentText")}>
      <Loaded query={query} rows={3}>
        {(asking) => (
          <Asking
            asking={asking}
            warning={t("asking.consentWarning")}
            // Whoever has decided is led away: a second decision is not asked for meanwhile.
            busy={goesOn || decide.isPending || decide.isSuccess}
            onDecide={decide.mutate}
          >
            <Text size="sm" c="dimmed">
              {t("asking.leads", { host: hostOf(asking.redirect) })}
            </Text>
          </Asking>
        )}
      </Loaded>
    </Frame>
  );
}

function hostOf(address: string): string {
  try {
    return new URL(address).host || address;
  } catch {
    return address;
  }
}
