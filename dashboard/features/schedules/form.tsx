"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { EMPTY, InputForm, inputOf, writtenOf } from "@/features/jobs/input-form";
import { go, scheduleHref } from "@/lib/address";
import { faults, patch, post } from "@/lib/api";
import type { Machine, Schedule } from "@/lib/documents";
import { useMachines } from "@/lib/machines";
import { keys } from "@/lib/query-keys";
import { Answer, Empty } from "@/ui/answer";
import { Dialog, FormActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { useToast } from "@/ui/toast";
import { WhenField } from "./when-field";
import { ZoneField } from "./zone-field";

const OVERLAPS: Record<Schedule["overlap"], string> = {
  allow: "start anyway",
  skip: "skip this one",
  queue: "wait for the last",
  cancel: "cancel the last",
};
const CATCH_UPS: Record<Schedule["catchUp"], string> = {
  none: "let them go",
  last: "run the last",
  all: "run all of them",
};

/** Makes a schedule, or changes one. */
export function ScheduleDialog({ schedule, onClose }: { schedule?: Schedule; onClose: () => void }) {
  const machines = useMachines();
  return (
    <Dialog title={schedule ? `Change ${schedule.name}` : "New schedule"} onClose={onClose}>
      <Answer query={machines}>
        {({ machines: all }) =>
          all.length > 0 ? (
            <Form machines={all} schedule={schedule} onClose={onClose} />
          ) : (
            <Empty title="No machine is known yet.">
              Start a worker with your code; then a schedule has something to enqueue.
            </Empty>
          )
        }
      </Answer>
    </Dialog>
  );
}

function Form({
  machines,
  schedule,
  onClose,
}: {
  machines: Machine[];
  schedule?: Schedule;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const say = useToast();
  const [name, setName] = useState(schedule?.name ?? "");
  const [when, setWhen] = useState(schedule?.when ?? "");
  const [tz, setTz] = useState(schedule?.tz ?? "UTC");
  const [action, setAction] = useState(schedule?.action ?? machines[0]!.name);
  const [overlap, setOverlap] = useState<Schedule["overlap"]>(schedule?.overlap ?? "allow");
  const [catchUp, setCatchUp] = useState<Schedule["catchUp"]>(schedule?.catchUp ?? "last");
  const machine = machines.find((each) => each.name === action);
  const [written, setWritten] = useState(schedule ? writtenOf(schedule.input, machine?.input ?? {}) : EMPTY);
  const [tried, setTried] = useState(false);
  const input = machine?.input ?? {};
  const { value, wrong } = inputOf(input, written);

  const save = useMutation({
    mutationFn: () => {
      const body = { when: when.trim(), tz, action, input: value, overlap, catchUp };
      return schedule
        ? patch("/api/schedules/{name}", { path: { name: schedule.name }, body })
        : post("/api/schedules", { body: { name: name.trim(), ...body } });
    },
    onSuccess: ({ schedule: saved }) => {
      void client.invalidateQueries({ queryKey: keys.schedules });
      void client.invalidateQueries({ queryKey: keys.schedule(saved.name) });
      say(`${saved.name}: ${saved.sentence}.`);
      onClose();
      if (!schedule) go(scheduleHref(saved.name));
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
        {!schedule && (
          <Field name="Name" wrong={faults(save.error).name}>
            <input
              className="input"
              required
              value={name}
              placeholder="nightly-report"
              onChange={(event) => setName(event.target.value)}
            />
          </Field>
        )}
      </div>
      <Field name="Action">
        <select
          className="input"
          value={action}
          onChange={(event) => {
            setAction(event.target.value);
            setWritten(EMPTY);
          }}
        >
          {!machine && <option value={action}>{action}</option>}
          {machines.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
      </Field>
      <InputForm schema={input} written={written} change={setWritten} wrong={tried ? wrong : {}} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="If the last one still runs">
          <Choice value={overlap} options={OVERLAPS} onChange={setOverlap} />
        </Field>
        <Field name="Ticks missed while nothing ran">
          <Choice value={catchUp} options={CATCH_UPS} onChange={setCatchUp} />
        </Field>
      </div>
      <FormActions
        error={save.error}
        onClose={onClose}
        disabled={save.isPending || !when.trim() || (!schedule && !name.trim())}
      >
        {schedule ? "Save" : "Create schedule"}
      </FormActions>
    </form>
  );
}

function Choice<T extends string>({
  value,
  options,
  onChange,
  ...rest
}: {
  value: T;
  options: Record<T, string>;
  onChange: (value: T) => void;
}) {
  return (
    <select {...rest} className="input" value={value} onChange={(event) => onChange(event.target.value as T)}>
      {Object.entries<string>(options).map(([name, meaning]) => (
        <option key={name} value={name}>
          {name}: {meaning}
        </option>
      ))}
    </select>
  );
}
