import { Modal, type ModalProps } from "@mantine/core";
import { useTranslation } from "react-i18next";

/** A dialog in the middle of the page, whose way out has a name. */
export function Dialog(props: ModalProps) {
  const { t } = useTranslation();
  return <Modal centered closeButtonProps={{ "aria-label": t("actions.close") }} {...props} />;
}
