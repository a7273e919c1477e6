"""Write kairos.json, the dashboard that Grafana imports; run it after changing a panel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = {"type": "prometheus", "uid": "${source}"}
# Title, unit, the queries with their legends, width of 24.
PANELS: tuple[tuple[str, str, tuple[tuple[str, str], ...], int], ...] = (
    ("Alarms", "short", (("max(kairos_alarms)", "alarms"),), 4),
    ("Workers", "short", (("max(kairos_workers)", "workers"),), 4),
    ("Oldest due job", "s", (("max(kairos_oldest_pending_seconds)", "oldest"),), 4),
    ("Counters behind", "s", (("max(kairos_statistics_behind_seconds)", "behind"),), 4),
    ("Ended jobs kept", "short", (("max by (state) (kairos_jobs_ended)", "{{state}}"),), 8),
    (
        "Throughput",
        "ops",
        (
            ("sum(max by (action) (rate(kairos_jobs_accepted_total[$__rate_interval])))", "accepted"),
            ("sum(max by (action) (rate(kairos_jobs_started_total[$__rate_interval])))", "started"),
            ("sum(max by (action) (rate(kairos_jobs_retried_total[$__rate_interval])))", "retried"),
        ),
        12,
    ),
    (
        "Ends",
        "ops",
        (
            (
                "sum by (state) (max by (action, state) (rate(kairos_jobs_finished_total[$__rate_interval])))",
                "{{state}}",
            ),
        ),
        12,
    ),
    (
        "Live jobs by state",
        "short",
        (("sum by (state) (max by (queue, state) (kairos_jobs))", "{{state}}"),),
        12,
    ),
    ("Due by queue", "short", (('max by (queue) (kairos_jobs{state="pending"})', "{{queue}}"),), 12),
    (
        "Wait before a start, p95",
        "s",
        (
            (
                "histogram_quantile(0.95, sum by (queue, le) "
                "(max by (queue, le) (rate(kairos_wait_seconds_bucket[$__rate_interval]))))",
                "{{queue}}",
            ),
        ),
        12,
    ),
    (
        "Run of a step, p95",
        "s",
        (
            (
                "histogram_quantile(0.95, sum by (queue, le) "
                "(max by (queue, le) (rate(kairos_run_seconds_bucket[$__rate_interval]))))",
                "{{queue}}",
            ),
        ),
        12,
    ),
    (
        "Requests by status",
        "reqps",
        (("sum by (status) (rate(kairos_http_requests_total[$__rate_interval]))", "{{status}}"),),
        8,
    ),
    (
        "Request, p95",
        "s",
        (
            (
                "histogram_quantile(0.95, sum by (route, le) "
                "(rate(kairos_http_request_duration_seconds_bucket[$__rate_interval])))",
                "{{route}}",
            ),
        ),
        8,
    ),
    ("Event streams being read", "short", (("sum(kairos_stream_readers)", "readers"),), 8),
)


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana stores it."""
    panels, x, y = [], 0, 0
    for number, (title, unit, queries, width) in enumerate(PANELS, start=1):
        if x + width > 24:
            x, y = 0, y + 8
        panels.append(
            {
                "id": number,
                "type": "stat" if width == 4 else "timeseries",
                "title": title,
                "datasource": SOURCE,
                "gridPos": {"x": x, "y": y, "w": width, "h": 8},
                "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                "targets": [
                    {"refId": chr(65 + place), "datasource": SOURCE, "expr": expr, "legendFormat": legend}
                    for place, (expr, legend) in enumerate(queries)
                ],
            }
        )
        x += width
    return {
        "uid": "kairos",
        "title": "Kairos",
        "tags": ["kairos"],
        "schemaVersion": 39,
        "version": 1,
        "refresh": "15s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": panels,
    }


def rendered() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    (HERE / "kairos.json").write_text(rendered())
