// Pages and their addresses. Each page is loaded when somebody goes there.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { asApiError } from "../api/error";
import { HomePage } from "../home/HomePage";
import { ErrorState, Loading } from "../ui/states";
import { Governing } from "./Governing";
import { Missing } from "./Missing";
import { queries } from "./queries";
import { Shell } from "./Shell";
import { meQuery } from "./session";

const root = createRootRoute({ component: Outlet });

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

/** A path of ours to go back to after the sign-in: never an address of another site. */
export function safeBack(value: unknown): string | undefined {
  const path = text(value);
  return path && /^\/(?![/\\])/.test(path) ? path : undefined;
}

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search) => ({
    back: safeBack(search.back),
    // Why a provider did not let somebody in, and the request it was.
    failed: text(search.failed),
    request: text(search.request),
  }),
  component: lazyRouteComponent(() => import("../login/LoginPage"), "LoginPage"),
});

const password = createRoute({
  getParentRoute: () => root,
  path: "/password",
  validateSearch: (search) => ({ back: safeBack(search.back) }),
  component: lazyRouteComponent(() => import("../login/FirstPasswordPage"), "FirstPasswordPage"),
});

/** Lets in who is signed in; the others come back after that. */
async function signedIn({ location }: { location: { href: string } }) {
  const me = await queries.ensureQueryData(meQuery).catch((error: unknown) => {
    if (asApiError(error).code === "signedOut") {
      throw redirect({ to: "/login", search: { back: location.href } });
    }
    throw error;
  });
  if (me.mustChangePassword) throw redirect({ to: "/password", search: { back: location.href } });
}

const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  beforeLoad: signedIn,
});

/** Pages on which other programs ask something; nothing else is on them. */
const asking = createRoute({
  getParentRoute: () => root,
  id: "asking",
  component: Outlet,
  beforeLoad: signedIn,
});

const device = createRoute({
  getParentRoute: () => asking,
  path: "/device",
  // The second is what the specification of this way in calls it.
  validateSearch: (search) => ({ code: text(search.code) ?? text(search.user_code) }),
  component: lazyRouteComponent(() => import("../access/DevicePage"), "DevicePage"),
});

const consent = createRoute({
  getParentRoute: () => asking,
  path: "/consent/$id",
  component: lazyRouteComponent(() => import("../access/ConsentPage"), "ConsentPage"),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  validateSearch: (search) => ({ tab: text(search.tab) }),
  component: lazyRouteComponent(() => import("../settings/SettingsPage"), "SettingsPage"),
});

const page = <Path extends string>(
  path: Path,
  load: Parameters<typeof lazyRouteComponent>[0],
  name: string,
) =>
  createRoute({
    getParentRoute: () => inside,
    path,
    component: lazyRouteComponent(load as never, name as never),
  });

const newWorkspace = createRoute({
  getParentRoute: () => inside,
  path: "/workspaces/new",
  validateSearch: (search) => ({
    template: text(search.template),
    volume: text(search.volume),
    cards: text(search.cards),
    edit: search.edit === true || undefined,
  }),
  component: lazyRouteComponent(() => import("../workspaces/NewWorkspacePage"), "NewWorkspacePage"),
});

const newJob = createRoute({
  getParentRoute: () => inside,
  path: "/jobs/new",
  validateSearch: (search) => ({
    template: text(search.template),
    clone: text(search.clone),
    edit: search.edit === true || undefined,
  }),
  component: lazyRouteComponent(() => import("../jobs/NewJobPage"), "NewJobPage"),
});

const workspace = createRoute({
  getParentRoute: () => inside,
  path: "/workspaces/$namespace/$name",
  validateSearch: (search) => ({ tab: text(search.tab) }),
  component: lazyRouteComponent(() => import("../workspaces/WorkspacePage"), "WorkspacePage"),
});

const job = createRoute({
  getParentRoute: () => inside,
  path: "/jobs/$namespace/$name",
  validateSearch: (search) => ({ tab: text(search.tab) }),
  component: lazyRouteComponent(() => import("../jobs/JobPage"), "JobPage"),
});

const governing = createRoute({ getParentRoute: () => inside, id: "governing", component: Governing });

/** Pages for platform administrators. */
const adminPage = (path: string, load: Parameters<typeof lazyRouteComponent>[0], name: string) =>
  createRoute({
    getParentRoute: () => governing,
    path,
    component: lazyRouteComponent(load as never, name as never),
  });

export const tree = root.addChildren([
  login,
  password,
  asking.addChildren([device, consent]),
  inside.addChildren([
    createRoute({ getParentRoute: () => inside, path: "/", component: HomePage }),
    page("/workspaces", () => import("../workspaces/WorkspacesPage"), "WorkspacesPage"),
    newWorkspace,
    workspace,
    page("/jobs", () => import("../jobs/JobsPage"), "JobsPage"),
    newJob,
    job,
    page("/cards", () => import("../heatmap/HeatmapPage"), "HeatmapPage"),
    page("/templates", () => import("../templates/TemplatesPage"), "TemplatesPage"),
    page("/volumes", () => import("../volumes/VolumesPage"), "VolumesPage"),
    page("/apps", () => import("../apps/AppsPage"), "AppsPage"),
    settings,
    governing.addChildren([
      adminPage("/admin/nodes", () => import("../admin/NodesPage"), "NodesPage"),
      // Names of nodes and accounts may have dots in them, and a last part with a dot is a file for the portal.
      adminPage("/admin/nodes/$node/overview", () => import("../admin/NodePage"), "NodePage"),
      adminPage("/admin/users", () => import("../admin/UsersPage"), "UsersPage"),
      adminPage("/admin/sessions", () => import("../admin/SessionsPage"), "SessionsPage"),
      adminPage("/admin/users/$user/sessions", () => import("../admin/UserSessionsPage"), "UserSessionsPage"),
      adminPage("/admin/users/$user/limits", () => import("../admin/UserLimitsPage"), "UserLimitsPage"),
      adminPage("/admin/policies", () => import("../admin/PoliciesPage"), "PoliciesPage"),
      adminPage("/admin/audit", () => import("../admin/AuditPage"), "AuditPage"),
    ]),
    page("/admin/accounts", () => import("../admin/AccountsPage"), "AccountsPage"),
    page("/admin/accounts/$account/overview", () => import("../admin/AccountPage"), "AccountPage"),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} retry={reset} />,
  defaultNotFoundComponent: Missing,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
