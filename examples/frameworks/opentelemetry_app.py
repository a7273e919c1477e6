"""OpenTelemetry: one trace from the span that enqueued a job through each of its steps.

$ pip install opentelemetry-sdk
$ KAIROS_DATABASE_URL=postgresql://… python examples/frameworks/opentelemetry_app.py
"""

import asyncio

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kairos import Context, Done, Kairos, Next, step

# Before the worker starts. In production: BatchSpanProcessor(OTLPSpanExporter()).
spans = InMemorySpanExporter()
provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)

app = Kairos()


@app.machine("parcel_trace")
class Parcel:
    @step(initial=True, to=["send"])
    async def pack(self, ctx: Context[dict[str, int]]) -> Next:
        return Next("send")

    @step(to=[])
    async def send(self, ctx: Context[dict[str, int]]) -> Done:
        with trace.get_tracer("shop").start_as_current_span("call the carrier"):  # a child of the step's span
            return Done("sent")


async def main() -> None:
    async with app, app.worker():
        with trace.get_tracer("shop").start_as_current_span("POST /parcels") as request:
            job = await Parcel.enqueue()
        print("result ->", await app.result(job.id, timeout="30s"))
    made = spans.get_finished_spans()
    of_the_request = request.get_span_context().trace_id
    mine = [span for span in made if span.context and span.context.trace_id == of_the_request]
    steps = [dict(span.attributes or {}) for span in mine if "kairos.step" in (span.attributes or {})]
    print("steps ->", [f"{each['kairos.step']}: {each['kairos.outcome']}" for each in steps])
    print("inside ->", "call the carrier" in {span.name for span in mine})


if __name__ == "__main__":
    asyncio.run(main())
