"use client";

import type { UseQueryResult } from "@tanstack/react-query";
import type { List } from "@/lib/paged-list";
import { Answer } from "./answer";
import { More } from "./more";

/** The head of a column; one that is `unseen` is only read aloud. */
export type Column = string | { name: string; className?: string; unseen?: boolean };

export const ACTIONS: Column = { name: "Actions", unseen: true };
export const number = (name: string): Column => ({ name, className: "number" });

type Head = { columns: readonly Column[]; className?: string };

/** A table that scrolls where it does not fit; one that is not stacked on a phone scrolls by keyboard too. */
export function Table({
  columns,
  className = "table-stack",
  children,
}: Head & { children: React.ReactNode }) {
  return (
    <div
      className="overflow-x-auto"
      {...(className === "table-stack" ? {} : { tabIndex: 0, role: "group", "aria-label": "Table" })}
    >
      <table className={`table ${className}`}>
        <thead>
          <tr>
            {columns
              .map((column) => (typeof column === "string" ? { name: column } : column))
              .map(({ name, className, unseen }) => (
                <th key={name} scope="col" className={className}>
                  {unseen ? <span className="sr-only">{name}</span> : name}
                </th>
              ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

type Body<Row> = Head & { empty: React.ReactNode; children: (row: Row) => React.ReactNode };

/** The rows of an answer as a table, or what is said where there are none. */
export function AnswerTable<T, Row>({
  query,
  rows,
  empty,
  children,
  loading,
  ...head
}: Body<Row> & {
  query: UseQueryResult<T>;
  rows: (data: T) => readonly Row[];
  /** How many rows to draw while it loads. */
  loading?: number;
}) {
  return (
    <Answer query={query} rows={loading}>
      {(data) => (rows(data).length === 0 ? empty : <Table {...head}>{rows(data).map(children)}</Table>)}
    </Answer>
  );
}

/** The rows of a list as a table, and a way to more of them. */
export function ListTable<Name extends string, Row>({
  list,
  name,
  ...body
}: Body<Row> & { list: List<Name, Row>; name: Name }) {
  return (
    <>
      <AnswerTable query={list.query} rows={(page) => page[name]} {...body} />
      <More list={list} />
    </>
  );
}
