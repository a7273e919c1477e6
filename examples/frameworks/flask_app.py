"""Flask: one SyncKairos for all threads, enqueued from a view.

$ flask --app examples/frameworks/flask_app:web run
$ kairos worker examples/frameworks/flask_app.py
"""

from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue

from kairos import SyncKairos
from kairos.errors import KairosError

app = SyncKairos()  # opened by its first verb; threads share it, and so may forked processes
web = Flask(__name__)


@app.job(queue="reports")
def report(month: str) -> str:
    return f"report of {month}"


@web.post("/reports")
def ask() -> ResponseReturnValue:
    month = request.get_json()["month"]
    job = report.options(unique=f"report:{month}", if_taken="return").enqueue(month=month)
    return jsonify(job=job.id, new=job.is_new), 202


@web.get("/reports/<int:job_id>")
def look(job_id: int) -> ResponseReturnValue:
    job = app.get(job_id)
    return jsonify(state=job.state, output=job.output)


@web.errorhandler(KairosError)
def explain(error: KairosError) -> ResponseReturnValue:
    """An error of Kairos knows its HTTP status, its code and one sentence."""
    return jsonify(error=error.code, message=error.message), error.http_status


def main() -> None:
    browser = web.test_client()
    first = browser.post("/reports", json={"month": "may"}).get_json()
    again = browser.post("/reports", json={"month": "may"}).get_json()
    print("one job ->", first["job"] == again["job"], again["new"])
    print("job ->", browser.get(f"/reports/{first['job']}").get_json()["state"])
    print("unknown ->", browser.get("/reports/999999").status_code)
    app.close()


if __name__ == "__main__":
    main()
