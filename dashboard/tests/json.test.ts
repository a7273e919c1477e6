import { expect, test } from "vitest";
import { read, write } from "@/lib/json";

test.each([
  "9007199254740993",
  "-1208925819614629174706176",
  "0.1000000000000000055511151231257827",
  '{"a":[1,2.5,"9007199254740993"],"b":null}',
  '"\\u202e"',
])("%s is written as it was read", (text) => {
  const value = read(text);
  expect(JSON.parse(write(value))).toEqual(JSON.parse(text));
  if (/^-?\d/.test(text)) expect(write(value)).toBe(text);
});

test("a text that looks like a number stays a text", () => {
  expect(read('"9007199254740993"')).toBe("9007199254740993");
});

test("an indented value reads back the same", () => {
  const value = { a: [1, { b: "c" }], d: {} };
  expect(read(write(value, 2))).toEqual(value);
});
