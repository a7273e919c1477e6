"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { scheduleHref } from "@/lib/address";
import { faults, part, patch, post } from "@/lib/api";
import type { Machine, Schedule } from "@/lib/documents";
import { write } from "@/lib/json";
import { useMachines } from "@/lib/machines";
import { InputForm, valueOf, type Draft } from "@/features/jobs/input-form";
import { Answer, Empty } from "@/ui/answer";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { useToast } from "@/ui/toast";
import { WhenField } from "./when-field";
import { ZoneField } from "./zone-field";

const OVERLAPS: Record<Schedule["overlap"], string> = { allow: "start anyway", skip: "skip this one", queue: "wait for the last", cancel: "cancel the last" };
const CATCH_UPS: Record<Schedule["catchUp"], string> = { none: "let them go", last: "run the last", all: "run all of them" };

/** Makes a schedule, or changes one. */
export function ScheduleDialog({ schedule, onClose }: { schedule?: Schedule; onClose: () => void }) {
  const machines = useMachines();
  return (
    <Dialog title={schedule ? `Change ${schedule.name}` : "New schedule"} onClose={onClose}>
      <Answer query={machines}>
        {({ machines: all }) => all.length > 0 ? <Form machines={all} schedule={schedule} onClose={onClose} /> : (
          <Empty title="No machine is known yet.">Start a worker with your code; then a schedule has something to enqueue.</Empty>
        )}
      </Answer>
    </Dialog>
  );
}

function Form({ machines, schedule, onClose }: { machines: Machine[]; schedule?: Schedule; onClose: () => void }) {
  const client = useQueryClient();
  const router = useRouter();
  const say = useToast();
  const [name, setName] = useState(schedule?.name ?? "");
  const [when, setWhen] = useState(schedule?.when ?? "");
  const [tz, setTz] = useState(schedule?.tz ?? "UTC");
  const [action, setAction] = useState(schedule?.action ?? machines[0]!.name);
  const [overlap, setOverlap] = useState<Schedule["overlap"]>(schedule?.overlap ?? "allow");
  const [catchUp, setCatchUp] = useState<Schedule["catchUp"]>(schedule?.catchUp ?? "last");
  const machine = machines.find((each) => each.name === action);
  const [draft, setDraft] = useState<Draft>(schedule ? draftOf(schedule.input, machine) : {});
  const [tried, setTried] = useState(false);
  const input = machine?.input ?? {};
  const { value, wrong } = valueOf(input, draft);

  const save = useMutation({
    mutationFn: () => {
      const body = { when: when.trim(), tz, action, input: value, overlap, catchUp };
      return schedule ? patch<{ schedule: Schedule }>(`/api/schedules/${part(schedule.name)}`, body) : post<{ schedule: Schedule }>("/api/schedules", { name: name.trim(), ...body });
    },
    onSuccess: ({ schedule: saved }) => {
      void client.invalidateQueries({ queryKey: ["schedules"] });
      void client.invalidateQueries({ queryKey: ["schedule", saved.name] });
      say(`${saved.name}: ${saved.sentence}.`);
      onClose();
      if (!schedule) router.push(scheduleHref(saved.name));
    },
  });
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(wrong).length === 0) save.mutate();
  };

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <WhenField name="When" value={when} onChange={setWhen} tz={tz} />
      <div className="grid gap-4 sm:grid-cols-2">
        <ZoneField value={tz} onChange={setTz} />
        {!schedule && <Field name="Name" wrong={faults(save.error).name}><input className="input" required value={name} placeholder="nightly-report" onChange={(event) => setName(event.target.value)} /></Field>}
      </div>
      <Field name="Action">
        <select className="input" value={action} onChange={(event) => { setAction(event.target.value); setDraft({}); }}>
          {!machine && <option value={action}>{action}</option>}
          {machines.map((each) => <option key={each.name} value={each.name}>{each.name}</option>)}
        </select>
      </Field>
      <InputForm schema={input} draft={draft} change={setDraft} wrong={tried ? wrong : {}} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="If the last one still runs"><Choice value={overlap} options={OVERLAPS} onChange={setOverlap} /></Field>
        <Field name="Ticks missed while nothing ran"><Choice value={catchUp} options={CATCH_UPS} onChange={setCatchUp} /></Field>
      </div>
      <DialogActions error={save.error}>
        <button type="button" className="button" onClick={onClose}>Close</button>
        <button type="submit" className="button button-primary" disabled={save.isPending || !when.trim() || (!schedule && !name.trim())}>{schedule ? "Save" : "Make the schedule"}</button>
      </DialogActions>
    </form>
  );
}

function Choice<T extends string>({ value, options, onChange, ...rest }: { value: T; options: Record<T, string>; onChange: (value: T) => void }) {
  return (
    <select {...rest} className="input" value={value} onChange={(event) => onChange(event.target.value as T)}>
      {Object.entries<string>(options).map(([name, meaning]) => <option key={name} value={name}>{name}: {meaning}</option>)}
    </select>
  );
}

/** The stored input as the fields show it. */
function draftOf(input: unknown, machine: Machine | undefined): Draft {
  const names = Object.keys(machine?.input.properties ?? {});
  if (names.length === 0 || typeof input !== "object" || input === null) return { "": write(input, 2) };
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, typeof value === "string" ? value : write(value)]));
}
