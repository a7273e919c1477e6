// graphile-worker as its users would write it, with the settings found fastest: a local queue, batched completion.
import { createInterface } from "node:readline";
import { makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

const connectionString = process.env.KAIROS_DATABASE_URL;
const [command, ...rest] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const TABLE = "graphile_worker._private_jobs";

async function withUtils(use) {
  const utils = await makeWorkerUtils({ connectionString });
  try {
    return await use(utils);
  } finally {
    await utils.release();
  }
}

const bulk = (utils) => utils.addJobs(Array.from({ length: 1000 }, () => ({ identifier: "noop", payload: { n: 1 } })));

async function enqueue(kind, seconds) {
  await withUtils(async (utils) => {
    const began = performance.now();
    let jobs = 0;
    while (performance.now() - began < 1000 * seconds) {
      if (kind === "one") {
        await utils.addJob("noop", { n: 1 });
        jobs += 1;
      } else {
        jobs += (await bulk(utils)).length;
      }
    }
    console.log(JSON.stringify({ jobs, seconds: (performance.now() - began) / 1000 }));
  });
}

async function work() {
  console.log("ready");
  await lines.next();
  const pgPool = new pg.Pool({ connectionString, max: 12 });
  pgPool.on("error", () => {});
  const runner = await run({
    pgPool,
    taskList: { noop: async () => {} },
    noHandleSignals: true,
    preset: {
      worker: {
        concurrentJobs: 24,
        pollInterval: 50,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  await lines.next();
  await runner.stop();
  await pgPool.end();
}

if (command === "install") {
  await withUtils(async (utils) => {
    await utils.migrate();
    await utils.withPgClient((client) => client.query(`truncate ${TABLE}`));
  });
} else if (command === "fill") {
  await withUtils(async (utils) => {
    for (let left = Number(rest[0]); left > 0; left -= 1000) await bulk(utils);
  });
} else if (command === "enqueue") {
  await enqueue(rest[0], Number(rest[1]));
} else {
  await work();
}
process.exit(0);
