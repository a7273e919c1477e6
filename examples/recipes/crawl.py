"""A crawl with fan-in that survives failed children: what could not be fetched is part of the answer.

$ kairos dev examples/recipes/crawl.py
$ kairos enqueue examples/recipes/crawl.py crawl 'urls=["/", "/missing"]'
"""

import asyncio
from typing import Any

from pydantic import BaseModel

from kairos import Await, Backoff, Context, Done, Kairos, Next, step

app = Kairos()

# The site: each page and the pages it links to. A real crawl asks the network instead.
SITE = {"/": ["/a", "/b"], "/a": ["/", "/missing"], "/b": ["/a", "/c"], "/c": []}


@app.job(queue="crawl", retry=Backoff(attempts=2, base="50ms"), timeout="30s")
async def fetch_page(url: str) -> list[str]:
    if url not in SITE:
        raise FileNotFoundError(url)
    return SITE[url]


class CrawlState(BaseModel):
    urls: list[str]
    seen: list[str] = []
    open: int = 0  # children that have not replied yet
    failed: list[str] = []


@app.machine("crawl")
class Crawl:
    State = CrawlState

    @step(initial=True, to=["gather"])
    async def start(self, ctx: Context[CrawlState]) -> Next:
        return Next("gather", self._fetch(ctx, ctx.state, ctx.state.urls))

    @step(to=[])
    async def gather(self, ctx: Context[CrawlState]) -> Await | Done:
        """Take every reply that is there; each child replies once, however it ends."""
        state = ctx.state
        while (reply := ctx.take("fetched")) is not None:
            child: dict[str, Any] = reply.payload
            state = state.model_copy(update={"open": state.open - 1})
            if child["state"] == "success":
                state = self._fetch(ctx, state, child["output"])
            else:  # failed, cancelled or expired
                state = state.model_copy(update={"failed": [*state.failed, child["error"]]})
        if state.open:
            return Await("fetched", state=state)
        return Done({"fetched": len(state.seen) - len(state.failed), "failed": state.failed})

    @staticmethod
    def _fetch(ctx: Context[CrawlState], state: CrawlState, urls: list[str]) -> CrawlState:
        """Spawn a child for each page not seen yet; they start with the commit of this step."""
        fresh = sorted(set(urls) - set(state.seen))
        ctx.spawn(*(fetch_page.call(url=url) for url in fresh), reply="fetched")
        return state.model_copy(update={"seen": [*state.seen, *fresh], "open": state.open + len(fresh)})


async def main() -> None:
    async with app, app.worker():
        crawl = await Crawl.enqueue(urls=["/"])
        print("crawl ->", await app.result(crawl.id, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
