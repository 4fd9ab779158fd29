// Names for what answers hold, so that pages need not know how the generated file is built.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Me = Schemas["Me"];
export type WorkspaceView = Schemas["WorkspaceView"];
export type WorkspaceDetail = Schemas["WorkspaceDetail"];
export type NewWorkspace = Schemas["NewWorkspace"];
export type WorkspacePhase = Schemas["WorkspacePhase"];
export type JobView = Schemas["JobView"];
export type JobDetail = Schemas["JobDetail"];
export type JobPhase = Schemas["JobPhase"];
export type JobType = Schemas["JobType"];
export type Why = Schemas["Why"];
export type EventView = Schemas["EventView"];
export type NodeView = Schemas["NodeView"];
export type CardView = Schemas["CardView"];
export type Holder = Schemas["Holder"];
export type AccountView = Schemas["AccountView"];
export type AccountDetail = Schemas["AccountDetail"];
export type UserView = Schemas["UserView"];
export type SessionView = Schemas["SessionView"];
export type KeyView = Schemas["KeyView"];
export type Scope = Schemas["Scope"];
export type ClusterOverview = Schemas["FirstPage"];
export type ClusterMessage = Schemas["Message"];
export type NodeHistory = Schemas["Strips"];
export type NodeDetail = Schemas["NodeDetail"];
export type NodePod = Schemas["PodOnNode"];
export type Taint = Schemas["TaintView"];
export type Policy = Schemas["PolicyView"];
export type PolicySpec = Schemas["PolicyView"]["policy"];
export type AccountChange = Schemas["AccountChange"];
export type ResourceList = Record<string, string>;
export type VolumeView = Schemas["VolumeView"];
export type TemplateView = Schemas["TemplateView"];
export type TemplateDetail = Schemas["TemplateDetail"];
export type TemplateKind = Schemas["TemplateKind"];
export type Usage = Schemas["Usage"];
export type UsagePoint = Schemas["CardUsage"]["points"][number];
export type KubeconfigOffer = Schemas["KubeconfigOffer"];
export type KubeconfigView = Schemas["KubeconfigView"];
/** What somebody else's program asks for. */
export type Question = Pick<Schemas["ConsentView"], "client" | "scopes">;
