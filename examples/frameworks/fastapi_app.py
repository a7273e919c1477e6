"""FastAPI: opened in the lifespan, enqueued from a route in the request's own transaction, mounted at /kairos.

$ uvicorn --app-dir examples/frameworks fastapi_app:web
$ kairos worker examples/frameworks/fastapi_app.py
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import asyncpg
from fastapi import Depends, FastAPI
from pydantic import BaseModel

from kairos import Kairos

app = Kairos()


@app.job(queue="mail")
async def send_welcome(user_id: int) -> dict[str, int]:
    return {"sent": user_id}


@asynccontextmanager
async def lifespan(web: FastAPI) -> AsyncIterator[None]:
    async with app:  # add `, app.worker()` to run jobs in this process too
        web.state.pool = await asyncpg.create_pool(app.database_url, min_size=1, max_size=5)
        await web.state.pool.execute("create table if not exists people (id serial primary key, name text)")
        yield
        await web.state.pool.close()


web = FastAPI(lifespan=lifespan)
# The API and the dashboard. It wants a key (`kairos keys add me --scope admin`), whoever mounts it.
web.mount("/kairos", app.asgi())


async def connection() -> AsyncIterator[asyncpg.Connection]:
    """One transaction for each request: what it wrote and what it enqueued are committed together, or not at all."""
    async with web.state.pool.acquire() as one, one.transaction():
        yield one


class Person(BaseModel):
    name: str


@web.post("/people", status_code=201)
async def sign_up(person: Person, db: Annotated[asyncpg.Connection, Depends(connection)]) -> dict[str, int]:
    user_id = await db.fetchval("insert into people (name) values ($1) returning id", person.name)
    job = await app.on(db).enqueue(send_welcome.call(user_id=user_id))
    return {"id": user_id, "job": job.id}


@web.get("/jobs/{job_id}")
async def look(job_id: int) -> dict[str, object]:
    job = await app.get(job_id)
    return {"state": job.state, "output": job.output}


async def main() -> None:
    import httpx2

    transport = httpx2.ASGITransport(app=web)
    async with (
        web.router.lifespan_context(web),
        app.worker(),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        made = (await http.post("/people", json={"name": "Ada"})).json()
        print("result ->", await app.result(made["job"], timeout="30s") == {"sent": made["id"]})
        print("job ->", (await http.get(f"/jobs/{made['job']}")).json()["state"])
        print("mounted ->", (await http.get("/kairos/healthz")).status_code)
        print("without a key ->", (await http.get("/kairos/api/jobs")).status_code)


if __name__ == "__main__":
    asyncio.run(main())
