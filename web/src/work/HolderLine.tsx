import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Holder } from "../api/types";
import { formatAmount } from "../ui/format";
import { pages } from "./work";

interface Props {
  holder: Holder;
  /** Which card it is, where that is not clear. */
  card?: string;
}

/** Somebody on a card: who, with what part of it, and the way to the work, for those who may know. */
export function HolderLine({ holder, card }: Props) {
  const { t } = useTranslation();
  const { kind, namespace, name, user, share } = holder;
  const parts = [
    card,
    user ?? t("cards.somebody"),
    share && t("heatmap.part", { share: formatAmount("", share) }),
    // A Pod that stands alone has no page.
    kind === "pod" && namespace && name,
  ];
  return (
    <Text size="sm">
      {parts.filter(Boolean).join(" · ")}
      {namespace && name && kind !== "pod" && (
        <>
          {" · "}
          <Anchor
            component={Link}
            to={kind === "job" ? pages.jobs : pages.workspaces}
            params={{ namespace, name } as never}
            search={{ tab: undefined } as never}
            inherit
          >
            {name}
          </Anchor>
        </>
      )}
    </Text>
  );
}
