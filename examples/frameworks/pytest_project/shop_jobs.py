"""The jobs of a shop, made by a function so that a test can give them a database of its own."""

from kairos import Await, Backoff, Context, Done, Kairos, step


def make_app(url: str | None = None) -> Kairos:
    app = Kairos(url)

    @app.job(retry=Backoff(attempts=2, base="10s", jitter=0))
    async def remind(ctx: Context, user_id: int) -> str:
        if ctx.attempt == 0:
            raise ConnectionError("the mail server is asleep")
        return f"reminded {user_id}"

    @app.machine("parcel")
    class Parcel:
        @step
        async def wait(self, ctx: Context[dict[str, str]]) -> Await | Done:
            if ctx.timed_out:
                return Done("lost")
            return Done("delivered") if ctx.take("delivered") else Await("delivered", timeout="7d")

    return app
