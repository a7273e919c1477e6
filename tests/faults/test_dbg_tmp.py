import asyncio, faulthandler, sys, io
from tests.faults.test_network import *
async def test_dbg(apps, proxy):
    app, through = apps
    async def dump():
        await asyncio.sleep(14)
        with open("/tmp/brk/dump","w") as f:
            for t in asyncio.all_tasks():
                f.write(f"--- {t.get_name()}\n"); 
                b=io.StringIO(); t.print_stack(file=b, limit=6); f.write(b.getvalue())
            f.write(f"aim {len(proxy.aim)} hits {proxy.hits}\n")
            rows = await fetch(app, "select id, fsm, step, status::text, lease, attempt, locked_by from kairos.gen_durable order by id")
            for r in rows: f.write(str(dict(r))+"\n")
            for r in await fetch(app, "select job_id, verb, step, attempt, reason from kairos.history order by id"): f.write(str(tuple(r))+"\n")
    d = asyncio.create_task(dump()); faulthandler.dump_traceback_later(12, file=open("/tmp/brk/fh","w"))
    async with through, through.worker(poll=0.05) as w:
        globals()["W"]=w
        proxy.cut_after(names("settle_jobs","finish_jobs"), times=6)
        parents = [await app.action("parent").enqueue() for _ in range(4)]
        await until(lambda: not proxy.aim)
        await check_family(app, parents)
