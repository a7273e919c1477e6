"""Job data is text: it is shown as it is, and it does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]

HOSTILE = [
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "\"><script>window.pwned=1</script>",
    "'><img src=x onerror=window.pwned=1>",
    "javascript:window.pwned=1",
    "<iframe src='javascript:parent.pwned=1'></iframe>",
    "</textarea><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "${window.pwned=1}",
    "<a href='javascript:window.pwned=1'>click</a>",
    "<style>*{display:none}</style>",
    "<base href='https://example.org/'>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "</pre><b id=injected>bold</b>",
    "<!--<img src=x onerror=window.pwned=1>",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "\u202e<script>window.pwned=1</script>",
    "line\r\nevent: status\r\ndata: {\"state\":\"failed\"}",
]  # fmt: skip

HARMLESS = """
() => window.pwned === undefined
  && document.querySelector('#injected, #main script, #main iframe, #main base, #main style, #main img') === null
  && document.querySelector('[href^="javascript:"]') === null
"""


def test_twenty_hostile_strings_in_every_field_are_text(look: Look, site: Site) -> None:
    words = [text.replace("\r\n", " ") for text in HOSTILE]
    jobs = [
        {"action": "echo", "input": {"value": {text: text}}, "key": word, "unique": word, "tags": [word]}
        for text, word in zip(HOSTILE, words, strict=True)
    ]
    stored = site.call("POST", "/api/jobs/batch", {"jobs": jobs})["jobs"]
    failed = site.enqueue("fail", {"why": "\n".join(HOSTILE)}, tags=["hostile"])
    site.until(failed, "failed")
    last = stored[-1]["job"]["id"]
    for each in stored:
        site.until(each["job"]["id"], "success")

    page = look("/jobs/?action=echo")
    for word in words:
        shown = word.replace("\u202e", r"\u202e")  # what turns text around is written out
        expect(page.locator("#main").get_by_text(shown, exact=True).first).to_be_visible()
    assert "\u202e" not in page.content()
    assert page.evaluate(HARMLESS)

    page.goto(f"/job/?id={last}")
    expect(page.get_by_label("Output", exact=True)).to_contain_text("event: status")
    expect(page.get_by_role("log")).to_contain_text("event: status")
    assert page.evaluate(HARMLESS)

    page.goto(f"/job/?id={failed}")
    expect(page.get_by_label("Error", exact=True)).to_contain_text("</pre><b id=injected>bold</b>")
    assert "\u202e" not in page.locator("#main").inner_text()
    page.get_by_role("button", name="Show every change").click()
    expect(page.get_by_test_id("timeline")).to_contain_text("<base href='https://example.org/'>")
    assert page.evaluate(HARMLESS)


def test_hostile_signals_and_reasons_are_text(look: Look, site: Site) -> None:
    job = site.enqueue("order", {"order_id": 1})
    site.until(job, "waiting")
    for text in HOSTILE:
        site.call("POST", f"/api/jobs/{job}/signals", {"name": text.replace("\r\n", " "), "payload": text})
    site.call("POST", f"/api/jobs/{job}/cancel", {"reason": HOSTILE[1]})
    page = look(f"/job/?id={job}")
    expect(page.get_by_test_id("signals")).to_contain_text(HOSTILE[0])
    assert "\u202e" not in page.locator("#main").inner_text()
    page.get_by_role("button", name="Show every change").click()
    expect(page.get_by_test_id("timeline")).to_contain_text(HOSTILE[1])
    assert page.evaluate(HARMLESS)


def test_a_hostile_name_is_text_in_titles_and_dialogs(look: Look, site: Site) -> None:
    site.enqueue("echo", {"value": 1}, queue="to\u202email")
    page = look("/queues/")
    page.get_by_role("button", name=r"Limits of to\u202email").click()
    expect(page.get_by_role("dialog")).to_contain_text(r"Limits of to\u202email")
    assert "\u202e" not in page.locator("body").inner_text()
    page.goto("/queue/?name=to%E2%80%AEmail")
    expect(page.get_by_role("heading", name=r"to\u202email")).to_be_visible()
    assert "\u202e" not in page.title()


def test_a_hostile_filter_in_the_url_is_text(look: Look) -> None:
    page = look("/jobs/?text=%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E&queue=%3Cscript%3E")
    expect(page.get_by_text("No job matches.")).to_be_visible()
    assert page.evaluate(HARMLESS)


def test_numbers_beyond_two_to_the_53_are_shown_digit_for_digit(look: Look, site: Site) -> None:
    numbers = {"n": 9007199254740993, "m": 1970670598291982290, "d": -(2**80)}
    job = site.enqueue("echo", {"value": numbers})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    for number in numbers.values():
        expect(page.get_by_label("Input", exact=True)).to_contain_text(str(number))
        expect(page.get_by_label("Output", exact=True)).to_contain_text(str(number))


def test_a_hidden_field_is_not_in_the_page(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "world", "token": "canary-4711"})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    expect(page.get_by_label("Input", exact=True)).to_contain_text("[redacted]")
    assert "canary-4711" not in page.content()
