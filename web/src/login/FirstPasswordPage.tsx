import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { meQuery } from "../app/session";
import { Loaded } from "../ui/states";
import { ChangePasswordForm } from "./ChangePasswordForm";
import { Frame } from "./Frame";
import { useEnter } from "./LoginPage";

/** A password that somebody else has made is changed before anything else. */
export function FirstPasswordPage() {
  const { t } = useTranslation();
  const enter = useEnter();
  const me = useQuery(meQuery);
  return (
    <Frame title={t("password.firstTitle")} text={t("password.firstText")}>
      <Loaded query={me}>
        {({ name }) => <ChangePasswordForm name={name} onDone={() => void enter()} />}
      </Loaded>
    </Frame>
  );
}
