import { Outlet } from "@tanstack/react-router";
import { ApiError } from "../api/error";
import { ErrorState } from "../ui/states";
import { useMe } from "./session";

/** Pages for platform administrators. The portal refuses others anyway; here they are told before they fill in a form. */
export function Governing() {
  return useMe().platformAdmin ? <Outlet /> : <ErrorState error={new ApiError("forbidden", "")} />;
}
