import type { JobRequest } from "@/lib/lifecycle.gen";
import { Field } from "@/ui/field";
import type { Details } from "./ask";

const FIELDS: Record<keyof Details, { name: string; hint: string }> = {
  delay: { name: "For", hint: "How long from now, such as 30m, 2h or 1d." },
  reason: { name: "Reason", hint: "Optional; it stands in the timeline." },
};

const fieldsOf = (request: JobRequest) =>
  request.fields.filter((name): name is keyof Details => name in FIELDS);
/** Whether a request has anything to fill in. */
export const hasFields = (request: JobRequest) => fieldsOf(request).length > 0;

/** What may be given with a request, as inputs. */
export function RequestFields({
  request,
  details,
  onChange,
}: {
  request: JobRequest;
  details: Details;
  onChange: (details: Details) => void;
}) {
  return fieldsOf(request).map((name) => (
    <div key={name} className="mt-4">
      <Field {...FIELDS[name]}>
        <input
          className="input"
          value={details[name] ?? ""}
          onChange={(event) => onChange({ ...details, [name]: event.target.value })}
        />
      </Field>
    </div>
  ));
}

/** Makes a request, in the colour of what it does: its label, and `children` for whom. */
export function RequestButton({
  request,
  disabled = false,
  onClick,
  children,
}: {
  request: JobRequest;
  disabled?: boolean;
  onClick: () => void;
  children: React.ReactNode;
}) {
  return (
    <button
      type="button"
      className={`button ${request.dangerous ? "button-danger" : "button-primary"}`}
      disabled={disabled}
      onClick={onClick}
    >
      {request.label} {children}
    </button>
  );
}
