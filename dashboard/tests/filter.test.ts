import { expect, test } from "vitest";
import { asQuery, filterOf, isSet, parseFound, parseSearch, say } from "@/features/jobs/filter";
import { asSearch } from "@/features/shell/search";
import { State } from "@/lib/lifecycle.gen";

test("what is typed becomes filters, arguments and text", () => {
  expect(parseSearch("email:a@example.com tag:vip key:order:42 lost parcel")).toEqual({
    input: ["email:a@example.com"],
    tag: "vip",
    key: "order:42",
    text: "lost parcel",
  });
});

test("a value with spaces stands in quotes", () => {
  expect(parseSearch('name:"Ada Lovelace" "two words"')).toEqual({
    input: ["name:Ada Lovelace"],
    text: "two words",
  });
});

test("an error's text and an address are text", () => {
  expect(parseSearch("ValueError: bad")).toEqual({ text: "ValueError: bad" });
  expect(parseSearch("https://example.com/x")).toEqual({ text: "https://example.com/x" });
});

test("what no filter is named for is the first meaning that some job has", async () => {
  const has =
    (...names: string[]) =>
    async (filter: object) =>
      names.includes(Object.keys(filter)[0]!);
  expect(await parseFound("a@example.com state:failed", has("input", "errorText"))).toEqual({
    input: ["*:a@example.com"],
    state: ["failed"],
  });
  expect(await parseFound("order:42", has("input"))).toEqual({ input: ["order:42"] });
  expect(await parseFound("order:42", has("key"))).toEqual({ key: "order:42" });
  expect(await parseFound("vip", has("tag", "errorText"))).toEqual({ tag: "vip" });
  expect(await parseFound("card has expired", has("errorText"))).toEqual({ errorText: "card has expired" });
  expect(await parseFound("lost parcel", has())).toEqual({ text: "lost parcel" });
  expect(await parseFound("email:nobody", has())).toEqual({ input: ["email:nobody"] });
});

test("a filter that is named is not asked about", async () => {
  const asked: object[] = [];
  const has = async (filter: object) => asked.push(filter) > 0;
  expect(await parseFound("tag:vip", has)).toEqual({ tag: "vip" });
  expect(asked).toEqual([]);
});

test("a search adds to the filters of the address and leaves its page", () => {
  expect(asSearch(parseSearch("tag:vip"), "?queue=mail&cursor=abc&text=old")).toBe("?queue=mail&tag=vip");
});

test("a filter survives the address", () => {
  const params = new URLSearchParams(`state=${State.failed}&input=a:1&input=b:2&queue=mail&state=nonsense`);
  const filter = filterOf(params);
  expect(asQuery(filter)).toEqual({ state: [State.failed], input: ["a:1", "b:2"], queue: "mail" });
  expect(isSet(filter)).toBe(true);
  expect(say(filter)).toBe(`${State.failed}, a:1, b:2, queue mail`);
});

test("no filter is all jobs", () => {
  expect(isSet(filterOf(new URLSearchParams()))).toBe(false);
  expect(say(filterOf(new URLSearchParams()))).toBe("all jobs");
});
