// pg-boss through its public API, with the settings found fastest: four loops that fetch and complete 1,000 at a time.
import { createInterface } from "node:readline";
import * as module from "pg-boss";

const PgBoss = module.PgBoss ?? module.default;
const [command, ...rest] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const QUEUE = "bench";
const boss = new PgBoss({ connectionString: process.env.KAIROS_DATABASE_URL, max: 8, supervise: false, schedule: false });
boss.on("error", () => {});
await boss.start();

const batch = Array.from({ length: 1000 }, () => ({ name: QUEUE, data: { n: 1 } }));
const bulk = () => (boss.insert.length > 1 ? boss.insert(QUEUE, batch) : boss.insert(batch));

async function enqueue(kind, seconds) {
  const began = performance.now();
  let jobs = 0;
  while (performance.now() - began < 1000 * seconds) {
    if (kind === "one") {
      await boss.send(QUEUE, { n: 1 });
      jobs += 1;
    } else {
      await bulk();
      jobs += batch.length;
    }
  }
  console.log(JSON.stringify({ jobs, seconds: (performance.now() - began) / 1000 }));
}

async function work() {
  console.log("ready");
  await lines.next();
  let ended = false;
  const end = lines.next().then(() => {
    ended = true;
  });
  const loop = async () => {
    while (!ended) {
      const jobs = await boss.fetch(QUEUE, { batchSize: 1000 });
      if (jobs?.length) {
        for (const job of jobs) await handle(job);
        await boss.complete(QUEUE, jobs.map((job) => job.id));
      } else {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  await Promise.all([loop(), loop(), loop(), loop(), end]);
}

async function handle() {}

if (command === "install") {
  await boss.createQueue(QUEUE);
  await boss.deleteAllJobs?.(QUEUE);
  await boss.clearStorage?.();
} else if (command === "fill") {
  for (let left = Number(rest[0]); left > 0; left -= 1000) await bulk();
} else if (command === "enqueue") {
  await enqueue(rest[0], Number(rest[1]));
} else {
  await work();
}
process.exit(0);
