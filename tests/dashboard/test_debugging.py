"""Finding out what a job was, where its time went, and trying it again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]


@pytest.fixture(scope="module")
def waiting(site: Site) -> int:
    job = site.enqueue("order", {"order_id": 8})
    site.until(job, "waiting")
    return job


@pytest.fixture(scope="module")
def flaky(site: Site) -> int:
    """A job that failed once, backed off for two seconds and then worked."""
    job = site.enqueue("flaky", {"failures": 1}, tags=["flaky"])
    site.until(job, "success")
    return job


def answers(page: Any, pattern: str, document: Any) -> None:
    page.route(
        pattern, lambda route: route.fulfill(body=json.dumps(document), content_type="application/json")
    )


def test_each_attempt_is_a_lane_that_says_where_its_time_went(look: Look, flaky: int) -> None:
    page = look(f"/job/?id={flaky}")
    first, second = page.locator("[data-lane='run 1']"), page.locator("[data-lane='run 2']")
    expect(first).to_contain_text(re.compile(r"ran (<1|\d+) ms"))
    expect(first).to_contain_text("the till does not answer")
    expect(second).to_contain_text(re.compile(r"backed off 2\.\d s"))
    ran = second.locator("[data-piece=ran]")
    expect(ran).to_have_attribute("title", re.compile(r"^ran .+, \+2\.\d s to \+2\.\d s \(.*\d\d:\d\d:\d\d"))
    page.get_by_role("button", name="Show every change").click()
    expect(page.get_by_test_id("timeline")).to_contain_text("retry")


def test_a_click_on_a_lane_narrows_the_log_to_its_attempt(look: Look, flaky: int) -> None:
    page = look(f"/job/?id={flaky}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("attempt=0")
    page.locator("[data-lane='run 2']").click()
    expect(log).to_contain_text("attempt=1")
    expect(log).not_to_contain_text("attempt=0")
    page.locator("[data-lane='run 2']").click()
    expect(log).to_contain_text("attempt=0")


def test_a_waiting_job_is_drawn_as_waiting_and_offers_its_signals(
    look: Look, site: Site, waiting: int
) -> None:
    page = look(f"/job/?id={waiting}")
    lane = page.locator("[data-lane='ship 1']")
    expect(lane).to_contain_text(re.compile("waiting .* for delivered"))
    expect(lane.locator("[data-piece=waited][data-open]")).to_have_count(1)
    expect(page.get_by_test_id("waterfall")).to_contain_text("the line is now")
    page.get_by_role("button", name="Send delivered").click()
    page.get_by_label("Payload").fill('{"at": "noon"}')
    page.get_by_role("button", name="Send signal").click()
    expect(page.get_by_label("Output", exact=True)).to_contain_text("noon")
    expect(lane).to_contain_text(re.compile("waited .* for delivered"))


def test_children_are_lanes_that_open(look: Look, site: Site, waiting: int) -> None:
    child = {**site.job(site.enqueue("greet", {"name": "child"})), "parent": waiting}
    page = look("/queues/")
    answers(page, f"**/api/jobs?parent={waiting}&*", {"jobs": [child], "nextCursor": None})
    page.goto(f"/job/?id={waiting}")
    lanes = page.get_by_test_id("waterfall")
    expect(lanes.get_by_role("link", name=f"greet {child['id']}")).to_be_visible()
    lanes.get_by_role("button", name=f"Steps of job {child['id']}").click()
    expect(lanes).to_contain_text("run")


def test_a_child_leads_to_its_parent(look: Look, site: Site, waiting: int) -> None:
    child = site.job(site.enqueue("greet", {"name": "child"}))
    page = look("/queues/")
    answers(page, f"**/api/jobs/{child['id']}", {"job": {**child, "parent": waiting}})
    page.goto(f"/job/?id={child['id']}")
    page.get_by_role("definition").get_by_role("link", name=str(waiting), exact=True).click()
    expect(page.get_by_test_id("job-id")).to_have_text(str(waiting))


def test_the_log_is_searched_and_narrowed_by_level(look: Look, flaky: int, tmp_path: Path) -> None:
    page = look(f"/job/?id={flaky}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("trying")
    page.get_by_label("Level").select_option("error")
    expect(log).not_to_contain_text("trying")
    expect(log).to_contain_text("ConnectionError")
    page.get_by_label("Level").select_option("")
    page.get_by_label("Search the log").fill("attempt=1")
    expect(log).not_to_contain_text("attempt=0")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the log").click()
    assert download.value.suggested_filename == f"job-{flaky}.log"
    download.value.save_as(tmp_path / "log")
    assert "attempt=1" in (tmp_path / "log").read_text()


def test_the_log_wraps_long_lines_and_fills_the_window(look: Look, site: Site) -> None:
    job = site.enqueue("echo", {"value": "word " * 100})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("got it")
    wide = "each => each.scrollWidth > each.clientWidth"
    assert log.evaluate(wide)
    page.get_by_role("button", name="Wrap long lines").click()
    expect(page.get_by_role("button", name="Wrap long lines")).to_have_attribute("aria-pressed", "true")
    assert not log.evaluate(wide)
    page.get_by_role("button", name="Use the whole window for the log").click()
    expect(page.get_by_title("Back to the page (Esc)")).to_be_visible()
    assert log.bounding_box()["width"] > 1200  # without the navigation, which is 216 wide
    page.keyboard.press("Escape")
    expect(page.get_by_title("Use the whole window")).to_be_visible()


def test_own_frames_of_a_traceback_come_first(look: Look, site: Site) -> None:
    job = site.enqueue("fail_in_a_thread")
    site.until(job, "failed")
    page = look(f"/job/?id={job}")
    rows = page.get_by_role("log").locator("[data-cursor]")
    expect(rows.filter(has_text="shop.py").first).to_be_visible()
    texts = [text.strip() for text in rows.all_inner_texts()]
    own = [index for index, text in enumerate(texts) if "shop.py" in text]
    library = [index for index, text in enumerate(texts) if re.search("(asyncio|futures).*[.]py", text)]
    assert len(own) == 2  # the job, and what it called in the thread
    assert own[-1] < library[0]


def test_what_each_step_changed_of_the_state_is_shown(look: Look, site: Site) -> None:
    job = site.enqueue("checkout", {"email": "state@example.com", "total": 7})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    expect(page.get_by_label("State", exact=True)).to_contain_text('"reservation": "r-7"')
    expect(page.get_by_test_id("state-changes")).to_contain_text('reservation: "r-7"')


def test_the_state_of_a_failed_step_is_what_it_knew_when_it_failed(look: Look, site: Site) -> None:
    job = site.enqueue("checkout", {"email": "state@example.com", "card": "expired"})
    site.until(job, "failed")
    page = look(f"/job/?id={job}")
    expect(page.locator("section", has=page.get_by_label("State", exact=True)).last).to_contain_text(
        "when charge failed"
    )


def test_a_job_without_signals_has_no_inbox_on_its_page(look: Look, flaky: int, waiting: int) -> None:
    page = look(f"/job/?id={flaky}")
    expect(page.get_by_test_id("waterfall")).to_be_visible()
    expect(page.get_by_role("heading", name="Signals")).to_have_count(0)
    page.goto(f"/job/?id={waiting}")
    expect(page.get_by_role("heading", name="Signals")).to_be_visible()


def test_what_the_machine_knows_is_shown_also_where_its_states_are_not_kept(look: Look, waiting: int) -> None:
    page = look(f"/job/?id={waiting}")
    expect(page.get_by_label("State", exact=True)).to_contain_text('"charge": "ch_1"')
    expect(page.get_by_text("keep_states=True")).to_be_visible()


def test_a_function_has_no_state_beside_its_input(look: Look, flaky: int) -> None:
    page = look(f"/job/?id={flaky}")
    expect(page.get_by_label("Input", exact=True)).to_be_visible()
    expect(page.get_by_label("State", exact=True)).to_have_count(0)


@pytest.mark.parametrize("width", [360, 1280])
def test_where_the_time_of_a_lane_went_is_not_cut_off(look: Look, site: Site, width: int) -> None:
    job = site.enqueue("order", {"order_id": 9})
    site.until(job, "waiting")
    page = look(f"/job/?id={job}", viewport={"width": width, "height": 900})
    said = page.locator("[data-lane='ship 1'] [data-said]")
    expect(said).to_contain_text("for delivered")
    assert said.evaluate(
        "each => each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight"
    )


def test_a_job_runs_again_with_one_argument_changed(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "ada@example.com", "times": 2}, tags=["again"])
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    page.get_by_role("button", name="Run again with changes").click()
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_label("name", exact=True)).to_have_value("ada@example.com")
    expect(sheet.get_by_label("name", exact=True)).to_be_focused()
    expect(sheet.get_by_label("Tags")).to_have_value("again")
    sheet.get_by_label("times").fill("1")
    sheet.get_by_role("button", name="Run again", exact=True).click()
    expect(page.get_by_label("Output", exact=True)).to_contain_text('"Hello, ada@example.com!"')
    expect(page).not_to_have_url(re.compile(rf"id={job}$"))
    again = page.get_by_test_id("job-id").inner_text()
    main = page.locator("#main")  # the message that it is accepted links to it too
    main.get_by_role("link", name=str(job), exact=True).click()  # "Retry of"
    expect(page.get_by_test_id("job-id")).to_have_text(str(job))
    main.get_by_role("link", name=again, exact=True).click()  # "Retried as"
    expect(page.get_by_test_id("job-id")).to_have_text(again)


def test_a_form_turns_into_json_and_back(look: Look) -> None:
    page = look("/machine/?name=greet")
    page.locator("#main").get_by_role("button", name="Enqueue a job").click()
    sheet = page.get_by_role("dialog")
    expect(sheet.locator("fieldset label")).to_have_text(["name", "times", "token"])
    sheet.get_by_label("name", exact=True).fill("ada")
    sheet.get_by_role("button", name="JSON").click()
    expect(sheet.locator("textarea")).to_have_value(re.compile('"name": "ada"'))
    sheet.locator("textarea").fill('{"name": "grace", "times": 3}')
    sheet.get_by_role("button", name="Form").click()
    expect(sheet.get_by_label("name", exact=True)).to_have_value("grace")
    expect(sheet.get_by_label("times")).to_have_value("3")


def test_the_fields_of_a_form_stand_in_the_order_of_the_signature(look: Look) -> None:
    page = look("/machine/?name=checkout")
    page.locator("#main").get_by_role("button", name="Enqueue a job").click()
    labels = page.get_by_role("dialog").locator("fieldset label")
    expect(labels).to_have_text([re.compile("^email"), "total", "card", "reservation"])


def test_a_job_is_copied_as_curl_and_as_python(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "it's"})
    page = look(f"/job/?id={job}", permissions=["clipboard-read", "clipboard-write"])
    copied = "() => navigator.clipboard.readText()"
    page.get_by_role("button", name="Copy as").click()
    page.get_by_role("menuitem", name="Copy as curl").click()
    expect(page.get_by_role("status").filter(has_text="Copied as curl")).to_be_visible()
    assert "it'\\''s" in page.evaluate(copied)
    page.get_by_role("button", name="Copy as").click()
    page.get_by_role("menuitem", name="Copy as Python").click()
    expect(page.get_by_role("status").filter(has_text="Copied as Python")).to_be_visible()
    assert 'enqueue("greet", name="it\'s"' in page.evaluate(copied)


def test_errors_stand_in_groups_and_lead_to_their_jobs(look: Look, site: Site) -> None:
    jobs = [site.enqueue("fail_in_a_thread") for _ in range(2)]
    for job in jobs:
        site.until(job, "failed")
    group = site.call("GET", "/api/errors?action=fail_in_a_thread")["errors"][0]
    page = look("/errors/?action=fail_in_a_thread")
    row = page.locator("[data-error]")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("called by a library")
    expect(row).to_contain_text(re.compile(r"shop\.py:\d+ in _fail"))
    expect(row.get_by_role("img", name="Failures in each of the last 24 hours")).to_be_visible()
    row.get_by_role("link", name="All jobs").click()
    expect(page).to_have_url(f"/jobs/?error={group['fingerprint']}&state=failed")
    for job in jobs:
        expect(page.get_by_role("checkbox", name=f"Select job {job}", exact=True)).to_be_visible()
    page.goto(f"/job/?id={jobs[0]}")
    page.get_by_role("link", name=re.compile(r"\d+ jobs? with this error")).click()
    expect(page).to_have_url(f"/jobs/?error={group['fingerprint']}&state=failed")


def test_all_jobs_of_an_error_are_retried_once_they_were_counted(look: Look, site: Site) -> None:
    site.until(site.enqueue("fail_in_a_thread"), "failed")
    page = look("/errors/?action=fail_in_a_thread")
    page.locator("[data-error]").get_by_role("button", name="Retry all…").click()
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_role("button", name="Retry", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(sheet.get_by_test_id("matched")).to_contain_text("will be retried")


@pytest.mark.parametrize("path", ["/machine/?name=greet", "/queue/?name=default", "/schedule/?name=plotted"])
def test_actions_queues_and_schedules_have_the_same_plots(look: Look, site: Site, path: str) -> None:
    made = {"name": "plotted", "when": "every day at 4am", "action": "greet", "input": {"name": "you"}}
    if path.startswith("/schedule/"):
        site.call("POST", "/api/schedules", made)
        site.until(site.call("POST", "/api/schedules/plotted/trigger", {})["job"]["id"], "success")
    else:
        site.until(site.enqueue("greet", {"name": "plotted"}), "success")
    page = look(path)
    for label in ("Jobs that ended", "Jobs that failed or expired", "Waiting times", "Run times"):
        expect(page.get_by_role("img", name=re.compile(f"^{label}, over time"))).to_be_visible()
    ended = page.get_by_role("list", name="The last jobs that ended")
    ended.get_by_role("link", name=re.compile(r"^Job \d+: success")).last.click()
    expect(page.locator("h1 [data-state=success]")).to_be_visible()


def test_the_palette_goes_to_pages_jobs_and_actions(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "palette"})
    page = look("/")
    expect(page.locator("[data-connection=open]")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to or do").fill("queu")
    page.get_by_role("option", name="Queues", exact=True).click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to or do").fill(str(job))
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-id")).to_have_text(str(job))


def test_a_filter_is_saved_as_a_view_and_removed_again(look: Look, site: Site) -> None:
    site.enqueue("greet", {"name": "view"}, tags=["viewed"])
    page = look("/jobs/?tag=viewed")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="Save this filter").click()
    page.get_by_label("Name").fill("My customers")
    page.get_by_role("button", name="Save view").click()
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="My customers").click()
    expect(page).to_have_url("/jobs/?tag=viewed")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="Remove “My customers”").click()
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_role("menuitem", name="Save this filter")).to_be_visible()
    expect(page.get_by_role("menuitem", name="My customers")).to_have_count(0)


def test_times_are_shown_in_utc_where_that_is_chosen(look: Look, flaky: int) -> None:
    page = look(f"/job/?id={flaky}", timezone_id="America/New_York")
    at = page.locator("dl time").first
    expect(at).to_have_attribute("title", re.compile("GMT-|EST|EDT"))
    page.get_by_role("button", name="Show times in UTC").click()
    expect(at).to_have_attribute("title", re.compile("UTC"))


def test_a_worker_and_a_queue_have_pages_of_their_own(look: Look, site: Site) -> None:
    job = site.enqueue("nap", {"seconds": 3600})
    site.until(job, "running")
    page = look(f"/job/?id={job}")
    page.locator("dl").get_by_role("link", name=re.compile(r"^\S+-\d+-\w+$")).click()
    expect(page.get_by_role("link", name=re.compile(rf"nap.*{job}"))).to_be_visible()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Queues").click()
    page.get_by_role("link", name="slow", exact=True).click()
    expect(page.get_by_role("heading", name="slow")).to_be_visible()
    expect(page.get_by_role("img", name="Jobs that ended, over time")).to_be_visible()
    site.call("POST", f"/api/jobs/{job}/cancel", {})


def test_a_retry_and_what_it_repeats_lead_to_each_other(look: Look, site: Site) -> None:
    job = site.enqueue("fail", {"why": "there and back"})
    site.until(job, "failed")
    retry = site.call("POST", f"/api/jobs/{job}/retry", {})["job"]["id"]
    page = look(f"/job/?id={job}")
    page.get_by_role("link", name=str(retry), exact=True).click()
    expect(page.get_by_test_id("job-id")).to_have_text(str(retry))
    page.get_by_role("link", name=str(job), exact=True).click()
    expect(page.get_by_test_id("job-id")).to_have_text(str(job))


def test_an_alarm_leads_to_the_place_of_its_remedy(look: Look) -> None:
    from tests.dashboard.test_now import with_alarms

    page = look("/queues/")
    with_alarms(page, 1)
    page.goto("/alarms/")
    page.locator("[data-alarm]").get_by_role("link", name="Errors").click()
    expect(page).to_have_url("/errors/?action=action-0")
