"""SQLAlchemy: a job that is committed with the session's rows, and not at all when the session is rolled back.

$ KAIROS_DATABASE_URL=postgresql://… python examples/frameworks/sqlalchemy_app.py
"""

import asyncio

from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from kairos import Kairos

app = Kairos()


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "shop_orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]


@app.job(queue="orders")
async def ship(order_id: int) -> str:
    return f"shipped {order_id}"


async def place(session: AsyncSession, item: str, *, fail: bool = False) -> int:
    """Store an order and enqueue its shipment in one transaction."""
    order = Order(item=item)
    session.add(order)
    await session.flush()  # the order has its number now
    job = await app.on(session).enqueue(ship.call(order_id=order.id))
    if fail:
        raise RuntimeError("no, wait")
    return job.id


async def main() -> None:
    async with app, app.worker():
        engine = create_async_engine(app.database_url.replace("postgresql://", "postgresql+asyncpg://", 1))
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.drop_all)
            await connection.run_sync(Base.metadata.create_all)
        sessions = async_sessionmaker(engine)
        async with sessions() as session, session.begin():
            job = await place(session, "a book")
        print("result ->", await app.result(job, timeout="30s"))
        before = len(await app.jobs(action="ship"))
        try:
            async with sessions() as session, session.begin():
                await place(session, "a lamp", fail=True)
        except RuntimeError:
            print("rolled back ->", len(await app.jobs(action="ship")) == before)
        await engine.dispose()


if __name__ == "__main__":
    asyncio.run(main())
