import { useTranslation } from "react-i18next";
import { Dialog } from "../ui/Dialog";
import { Once } from "../ui/Once";

interface Props {
  made: { name: string; password: string } | undefined;
  onClose: () => void;
}

/** A password that was just made: shown this once. */
export function MadePassword({ made, onClose }: Props) {
  const { t } = useTranslation();
  return (
    <Dialog
      opened={made !== undefined}
      onClose={onClose}
      title={t("users.passwordFor", { name: made?.name ?? "" })}
      closeOnClickOutside={false}
    >
      <Once warning={t("users.passwordOnce")} text={made?.password ?? ""} onKept={onClose} />
    </Dialog>
  );
}
