// What the service answers with, by the names people use: the generated types, refined where they say "anything".

import type { JobState } from "./lifecycle.gen";
import type { components } from "./openapi.gen";

type Shapes = components["schemas"];
type Refined<T, R> = Omit<T, keyof R> & R;

export type Progress = { done: number; total: number };
export type Job = Refined<Shapes["Job"], { progress: Progress | null }>;
export type Change = Shapes["Change"];
export type Signal = Shapes["Signal"];
export type Queue = Shapes["Queue"];
export type Rate = Shapes["Rate"];
export type Worker = Shapes["Worker"];
export type Schedule = Shapes["ScheduleShape"];
export type Tick = Shapes["TickShape"];
export type Intent = Shapes["IntentShape"];
export type Counts = Shapes["Slot"];
export type Stats = Refined<Shapes["Stats"], { states: Record<JobState, number> }>;
export type Alarm = Shapes["Alarm"];
export type Session = Shapes["Session"];
export type Key = Shapes["Key"];
export type NewKey = Shapes["NewKey"];
export type Webhook = Shapes["Webhook"];
export type NewWebhook = Shapes["WebhookMade"];
export type Audit = Shapes["AuditEntry"];
export type BulkPortion = Shapes["BulkAnswer"];
export type ErrorGroup = Shapes["ErrorGroup"];

export type Machine = Refined<Shapes["Machine"], { input: Schema }>;

/** As much of JSON Schema as a form needs. */
export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  /** The names of the properties in the order of the signature. */
  "x-order"?: string[];
  default?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
  format?: string;
  items?: Schema;
};

export type Diagram = {
  name: string;
  states: string[];
  initial: string[];
  terminal: string[];
  transitions: { verb: string; from: string; to: string; by: string; because: string }[];
};

/** How many jobs of each queue were accepted and picked since the last such event. */
export type StartCounts = { accepted?: Record<string, number>; picked?: Record<string, number> };

// Streams are not part of the OpenAPI document.
export type LogLine = {
  cursor: number;
  at: string;
  level: string;
  line: string;
  fields?: Record<string, unknown> | null;
  step?: string;
  attempt?: number;
};
export type Pulse = { at: string; edges: { verb: string; from: JobState; to: JobState; count: number }[] };
