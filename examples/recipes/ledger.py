"""An exactly-once ledger: the money moves in the commit that ends the job, so it moves once, whatever dies.

$ kairos dev examples/recipes/ledger.py
"""

import asyncio

from kairos import Backoff, Context, Kairos

app = Kairos()

TABLES = """
create table if not exists accounts (name text primary key, balance int not null check (balance >= 0));
create table if not exists transfers (job bigint primary key, source text, target text, amount int);
insert into accounts values ('ada', 100), ('bob', 0) on conflict (name) do update set balance = excluded.balance
"""


@app.job
async def create_ledger(ctx: Context) -> None:
    async with ctx.transaction() as db:
        await db.execute(TABLES)


@app.job(queue="ledger", retry=Backoff(attempts=3, base="50ms"))
async def transfer(ctx: Context, source: str, target: str, amount: int) -> dict[str, int]:
    async with ctx.transaction() as db:
        await db.execute("update accounts set balance = balance - $2 where name = $1", source, amount)
        await db.execute("update accounts set balance = balance + $2 where name = $1", target, amount)
        await db.execute("insert into transfers values ($1, $2, $3, $4)", ctx.id, source, target, amount)
    if ctx.attempt == 0:
        raise ConnectionError("lost in the middle")  # all three writes are rolled back with the attempt
    return {"moved": amount}


@app.job
async def balances(ctx: Context) -> dict[str, int]:
    async with ctx.transaction() as db:
        return {row["name"]: row["balance"] for row in await db.fetch("select * from accounts order by name")}


async def main() -> None:
    async with app, app.worker():
        await app.result((await create_ledger.enqueue()).id, timeout="30s")
        job = await transfer.enqueue(source="ada", target="bob", amount=30)
        print("transfer ->", await app.result(job.id, timeout="30s"))
        print("attempts ->", [change.verb for change in await app.history(job.id)])
        print("balances ->", await app.result((await balances.enqueue()).id, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
