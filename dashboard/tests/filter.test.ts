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

test("words that some job was called with are an argument, others are text", async () => {
  const asked: string[] = [];
  const knows = (known: boolean) => async (entry: string) => {
    asked.push(entry);
    return known;
  };
  expect(await parseFound("a@example.com state:failed", knows(true))).toEqual({
    input: ["*:a@example.com"],
    state: ["failed"],
  });
  expect(await parseFound("lost parcel", knows(false))).toEqual({ text: "lost parcel" });
  expect(await parseFound("tag:vip", knows(true))).toEqual({ tag: "vip" });
  expect(asked).toEqual(["*:a@example.com", "*:lost parcel"]);
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
