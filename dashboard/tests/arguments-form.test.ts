import { expect, test } from "vitest";
import { draftOf, fieldsOf, jsonOf, readForm } from "@/lib/arguments-form";

const GREET = {
  properties: {
    times: { type: "integer", default: 1 },
    name: { type: "string" },
    loud: { anyOf: [{ type: "boolean" }, { type: "null" }] },
    how: { enum: ["kindly", "briefly"] },
    more: { type: "object" },
  },
  required: ["name"],
};

test("fields come in the order of the signature", () => {
  expect(fieldsOf(GREET).map((field) => [field.name, field.kind])).toEqual([
    ["times", "number"],
    ["name", "text"],
    ["loud", "boolean"],
    ["how", "choice"],
    ["more", "json"],
  ]);
});

test("a required text that is empty is missing and never an empty text", () => {
  expect(readForm(GREET, {}).wrong).toEqual({ name: "name is required." });
});

test("only what was filled in is sent", () => {
  expect(readForm(GREET, { name: "7", times: "2", loud: "true", how: '"kindly"' })).toEqual({
    value: { name: "7", times: 2, loud: true, how: "kindly" },
    wrong: {},
  });
});

test("text that is no number is reported at its field", () => {
  expect(readForm(GREET, { name: "x", times: "two" }).wrong).toEqual({ times: "This is not a number." });
});

test("a stored input fills the form, or is shown as JSON where the form cannot hold it", () => {
  expect(draftOf({ name: "ada", times: 3 }, GREET)).toEqual({ name: "ada", times: "3" });
  expect(draftOf({ name: "ada", times: 1, loud: null }, GREET)).toEqual({ name: "ada" });
  expect(draftOf({ name: "" }, GREET)).toBeNull();
  expect(draftOf({ other: 1 }, GREET)).toBeNull();
  expect(draftOf([1], GREET)).toBeNull();
});

test("an action without a schema takes JSON", () => {
  expect(readForm({}, { "": '{"any": [1]}' })).toEqual({ value: { any: [1] }, wrong: {} });
  expect(readForm({}, { "": "[" }).wrong[""]).toContain("This is not JSON");
});

test.each(["[1]", "5", "null", '"text"'])("an input that is no object is refused: %s", (text) => {
  expect(jsonOf(text).wrong[""]).toContain("not a JSON object");
});
