import { expect, test } from "vitest";
import { differences } from "@/features/job/diff";
import { traceLines } from "@/features/job/traceback";
import { preview } from "@/features/jobs/preview";
import { asCurl, asPython } from "@/lib/snippets";
import { visible, visibleLine } from "@/lib/visible-text";

test("characters that turn or hide text are written out", () => {
  expect(visible("a\u202eb\u200bc\u2066d")).toBe("a\\u202eb\\u200bc\\u2066d");
  expect(visible("line\nline\ttab")).toBe("line\nline\ttab");
  expect(visibleLine("a\nb")).toBe("a\\nb");
  expect(visible("مرحبا")).toBe("مرحبا");
});

test("joiners that belong to a script or to an emoji stay, any other is written out", () => {
  for (const text of ["می\u200cخواهم", "क्\u200dष", "👩🏽\u200d🚀", "🏳️\u200d🌈"])
    expect(visible(text)).toBe(text);
  expect(visible("pay\u200dpal \u200cadmin")).toBe("pay\\u200dpal \\u200cadmin");
  expect(visible("مرحبا\u202e\u200d")).toBe("مرحبا\\u202e\\u200d");
});

test("arguments fit on a line", () => {
  expect(preview({ name: "ada", times: 3, tags: ["a"] })).toBe('name: ada, times: 3, tags: ["a"]');
  expect(preview({ text: "x".repeat(500) }).length).toBeLessThanOrEqual(160);
  expect(preview({})).toBe("");
  expect(preview(null)).toBe("");
});

test("the arguments that a list is filtered by stand first", () => {
  const input = { card: "valid", email: "ada@example.com", total: 3 };
  expect(preview(input, ["email:ada@example.com"])).toBe("email: ada@example.com, card: valid, total: 3");
  expect(preview(input, ["*:3"])).toBe("total: 3, card: valid, email: ada@example.com");
});

test("a request is written for a shell and for Python", () => {
  const request = {
    action: "greet",
    input: { name: "it's", "a-b": null, big: 9007199254740993n },
    options: { queue: "mail" },
  };
  expect(asCurl("http://x", request)).toContain(
    `'{"action":"greet","input":{"name":"it'\\''s","a-b":null,"big":9007199254740993},"queue":"mail"}'`,
  );
  expect(asPython("http://x", request)).toContain(
    `client.options(queue="mail").enqueue("greet", name="it's", big=9007199254740993, **{"a-b": None})`,
  );
});

test("a traceback tells the exception and own frames before those of libraries", () => {
  const trace = [
    "Traceback (most recent call last):",
    '  File "/srv/venv/lib/python3.12/site-packages/httpx/x.py", line 1, in get',
    "    raise Wrong",
    '  File "/srv/app/shop.py", line 7, in charge',
    "    bank.charge()",
    "ConnectionError: refused",
  ].join("\n");
  expect(traceLines(trace).map((line) => [line.text.trim(), line.library])).toEqual([
    ["ConnectionError: refused", false],
    ['File "/srv/app/shop.py", line 7, in charge', false],
    ["bank.charge()", false],
    ["… and 1 frame of libraries:", true],
    ['File "/srv/venv/lib/python3.12/site-packages/httpx/x.py", line 1, in get', true],
    ["raise Wrong", true],
  ]);
});

test("a text without a traceback stays as it is", () => {
  expect(traceLines("a\nb").map((line) => line.text)).toEqual(["a", "b"]);
});

test("a change that a step made is shown with its path", () => {
  expect(differences({ a: 1, b: { c: 2, d: 3 } }, { a: 1, b: { c: 4 }, e: [1] })).toEqual([
    { path: "b.c", before: "2", after: "4" },
    { path: "b.d", before: "3", after: null },
    { path: "e", before: null, after: "[1]" },
  ]);
  expect(differences({ a: 1 }, { a: 1 })).toEqual([]);
});
