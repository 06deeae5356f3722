"""Opens HTML reports in Chromium: python html_report.py BROWSER REPORTS AXE PICTURES

BROWSER is the program, REPORTS a folder with the reports as NAME.html and NAME.json, AXE the file of axe-core, and
PICTURES the folder for pictures.
"""

import base64
import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import sys
import threading

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

# The number of milliseconds in which the large report must load on any machine. The measured time is printed.
LONGEST_LOAD = 10_000
# The size of the large report.
LARGEST_FILE = 5 << 20

PROBES_SHOWN = "return document.querySelectorAll('.item[data-kind=probe]:not([hidden])').length"

reports = pathlib.Path(sys.argv[2])
axe = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")
pictures = pathlib.Path(sys.argv[4])


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAIL html_report.py: {message}")


def passed(message):
    print(f"ok   html: {message}", flush=True)


class Browser:
    """Chromium without a window."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = sys.argv[1]
        options.add_argument("--headless=new")
        options.add_argument("--disable-gpu")
        options.add_argument("--disable-dev-shm-usage")
        options.add_argument("--hide-scrollbars")
        if os.geteuid() == 0:
            # The sandbox of Chromium does not work as root.
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def devtools(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def view(self, theme="light", width=1200, height=900, media="screen"):
        """Sets the theme, the size of the window and the medium."""
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.devtools("Emulation.setEmulatedMedia", media=media, features=[feature])
        self.resize(width, height)

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)

    def open(self, address):
        self.messages()
        self.driver.get(address)

    def open_file(self, name):
        self.open((reports / f"{name}.html").as_uri())

    def messages(self):
        """Returns and removes the messages of the console, which include violations of a policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def press(self, *keys):
        actions = ActionChains(self.driver)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def focused(self):
        return self.run("return document.activeElement.id || document.activeElement.className")

    def wait(self, script, message):
        WebDriverWait(self.driver, 10, poll_frequency=0.05).until(lambda _: self.run(script), message)

    def picture(self, name, longest=5000):
        """Writes a picture of the whole page."""
        height = min(int(self.devtools("Page.getLayoutMetrics")["cssContentSize"]["height"]), longest)
        self.resize(self.run("return innerWidth"), height)
        data = self.devtools("Page.captureScreenshot", captureBeyondViewport=False)["data"]
        (pictures / f"{name}.png").write_bytes(base64.b64decode(data))


def number_of(browser, selector):
    return browser.run("return document.querySelectorAll(arguments[0]).length", selector)


def shown(browser, kind):
    return number_of(browser, f".item[data-kind={kind}]:not([hidden])")


def counted(browser):
    """Returns the numbers of the result that is announced to screen readers."""
    text = browser.run("return document.getElementById('count').textContent")
    return [int(number) for number in re.findall(r"\d+", text)]


def check_counts(browser):
    """The numbers are those of the JSON report."""
    for name in ("platform", "demo", "rules", "odd", "large"):
        browser.open_file(name)
        check(browser.messages() == [], f"{name}: messages in the console")
        report = json.loads((reports / f"{name}.json").read_text(encoding="utf-8"))
        summary = report["summary"]
        for status in ("error", "warning", "note", "suppressed"):
            key = status if status == "suppressed" else f"{status}s"
            blocks = number_of(browser, f".finding[data-f={status}]")
            tile = int(browser.run("return document.getElementById(`count-${arguments[0]}`).textContent", key))
            check(blocks == tile == summary[key], f"{name}: {blocks} blocks, {tile}, and {summary[key]} {key} in JSON")
        passed(f"{name}: {len(report['findings'])} findings, as in JSON")
    browser.open_file("diff")
    check(browser.messages() == [], "diff: messages in the console")
    changes = json.loads((reports / "diff.json").read_text(encoding="utf-8"))["changes"]
    check(shown(browser, "change") == len(changes) > 0, "diff: the number of changes differs from JSON")
    browser.open_file("predict")
    check(browser.messages() == [] and shown(browser, "probe") > 0, "predict: no probes")


def check_filters(browser):
    browser.open_file("platform")
    all_probes = shown(browser, "probe")
    check(counted(browser)[:2] == [all_probes, all_probes], "not all probes are shown at first")
    browser.run("document.querySelector('input[value=error]').click()")
    browser.wait("return document.querySelector('.item[hidden]') !== null", "the filter has no effect")
    left = browser.run("return [...document.querySelectorAll('.item:not([hidden])')].map((item) => item.dataset.s)")
    check(left and all("error" not in status.split() or " " in status for status in left), f"shown: {left}")
    browser.run("document.getElementById('clear').click()")
    check(shown(browser, "probe") == all_probes, "the reset does not show all probes")
    for term in ("storefront", "fails"):
        browser.run(
            "const text = document.getElementById('text'); text.value = arguments[0];"
            "text.dispatchEvent(new Event('input', {bubbles: true}))",
            term,
        )
        browser.wait("return document.querySelector('.item[hidden]') !== null", f"{term} hides nothing")
        found = shown(browser, "probe") + shown(browser, "finding")
        check(found > 0, f"{term} shows nothing")
        check(sum(counted(browser)[::2]) == found, f"{term}: the announced number differs")
        browser.run("document.getElementById('clear').click()")
    passed("filters show and hide probes and findings, and announce the number")


def check_keyboard(browser):
    browser.open_file("platform")
    browser.press(Keys.TAB)
    check(browser.focused() == "skip", "the first key press does not reach the link that skips the header")
    browser.press(Keys.ENTER)
    browser.wait("return document.activeElement.id === 'main'", "the link does not skip the header")
    browser.press("/")
    check(browser.focused() == "text", "`/` does not focus the search")
    browser.press("storefront")
    browser.wait(f"{PROBES_SHOWN} === 1", "the search finds more")
    check(number_of(browser, ".workload:not([hidden])") == 1, "empty groups are shown")
    reached = []
    for _ in range(40):
        browser.press(Keys.TAB)
        reached.append(browser.run("return document.activeElement.localName"))
        if browser.run("return document.activeElement.matches('.probe > summary')"):
            break
    check(reached[-1] == "summary", f"the probe cannot be reached: {reached}")
    browser.press(Keys.ENTER)
    browser.wait("return document.activeElement.parentElement.open", "the probe does not open")
    hops = browser.run("return [...document.querySelectorAll('.probe[open] .way')].map((way) => way.innerText)")
    check(any("fails here" in way for way in hops) and any("fails here" not in way for way in hops), f"ways: {hops}")
    facts = "return document.querySelector('.probe[open] .factlist summary')"
    browser.wait(facts, "the facts of the prediction are not shown in place")
    browser.run(facts + ".click()")
    text = browser.run("return document.querySelector('.probe[open] .factlist').innerText")
    check("agent port" in text, f"no facts: {text}")
    browser.press("/", Keys.ESCAPE)
    check(browser.run("return document.getElementById('text').value") == "", "Escape does not clear the search")
    passed("keyboard: skip link, search, probes and facts")


def check_accessibility(browser):
    """Runs axe-core with all details open, in both themes and two widths."""
    for name, theme, width in (
        ("platform", "light", 1200),
        ("platform", "dark", 400),
        ("diff", "dark", 1200),
        ("diff", "light", 400),
        ("predict", "light", 1200),
    ):
        browser.view(theme, width)
        browser.open_file(name)
        browser.run("document.getElementById('open-all').click()")
        browser.run(axe)
        result = browser.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run({resultTypes: ['violations']}).then(done, (error) => done({error: String(error)}))"
        )
        violations = result.get("violations", [result])
        found = [f"{v.get('id')}: {[n['html'][:120] for n in v.get('nodes', [])][:3]}" for v in violations]
        check(found == [], f"{name}, {theme}, {width}: " + "\n".join(found))
        wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
        check(wide <= 0, f"{name}, {width}: the page is {wide} pixels wider than the window")
    passed("accessibility: axe-core finds nothing, light and dark, wide and narrow")
    browser.view()


def check_print(browser):
    browser.open_file("platform")
    browser.view(media="print")
    visible = (
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter((element) => element.checkVisibility({contentVisibilityAuto: true})).length"
    )
    check(browser.run(visible, "#filters, nav, .skip") == 0, "the filters are printed")
    broken = number_of(browser, ".probe.bad")
    check(browser.run(visible, ".probe.bad .way") >= broken > 0, "the ways of broken probes are not printed")
    data = base64.b64decode(browser.devtools("Page.printToPDF", printBackground=False)["data"])
    (pictures / "platform.pdf").write_bytes(data)
    check(data.startswith(b"%PDF-"), "the page cannot be printed")
    browser.picture("platform-print")
    browser.view()
    passed(f"print: broken probes are open, {len(data)} bytes of PDF")


@contextlib.contextmanager
def server(policy):
    """Serves the reports on a loopback address, with a Content-Security-Policy."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            self.send_header("Content-Security-Policy", policy)
            self.send_header("X-Content-Type-Options", "nosniff")
            super().end_headers()

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=reports)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def check_policy(browser):
    page = (reports / "platform.html").read_text(encoding="utf-8")
    own = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    with server(own + "; frame-ancestors 'none'") as address:
        browser.open(f"{address}/platform.html")
        messages = [message for message in browser.messages() if "favicon" not in message]
        check(messages == [], f"messages: {messages}")
        check(counted(browser)[0] > 0, "the script does not run")
        check(browser.run("return getComputedStyle(document.querySelector('.hop')).borderStyle") != "none", "no style")
    # Some servers of artifacts forbid all scripts and styles.
    with server("sandbox; default-src 'none'") as address:
        browser.open(f"{address}/platform.html")
        check_readable(browser, "without style and script")
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    browser.open_file("platform")
    check_readable(browser, "without script")
    browser.picture("platform-without-script")
    browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
    passed("policy: strict headers, and readable without style and script")


def check_readable(browser, how):
    text = browser.devtools("Accessibility.getFullAXTree")["nodes"]
    names = {node.get("name", {}).get("value", "") for node in text if not node.get("ignored")}
    check("shop/Deployment/storefront" in names, f"{how}: the workloads are not readable")
    check(not any("Filter the results" in name for name in names), f"{how}: the filters are shown")


def check_size(browser):
    size = (reports / "large.html").stat().st_size
    check(size < LARGEST_FILE, f"{size} bytes")
    times = []
    for _ in range(3):
        browser.open_file("large")
        times.append(browser.run("return Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)"))
    nodes = browser.run("return document.querySelectorAll('*').length")
    check(min(times) < LONGEST_LOAD, f"{times} ms")
    browser.press("/", "web-999")
    browser.wait(f"{PROBES_SHOWN} === 2", "the search finds more")
    passed(f"1,000 workloads: {size} bytes, {nodes} elements, loaded in {min(times)} ms (of {times})")
    browser.run("document.getElementById('clear').click()")
    browser.picture("large", 1600)
    browser.view()


def draw(browser):
    """Writes pictures for people."""
    for name, theme, width, action in (
        ("platform", "light", 1200, "bad"),
        ("platform", "dark", 1200, "bad"),
        ("platform", "light", 400, "bad"),
        ("demo", "light", 1200, ""),
        ("diff", "light", 1200, "all"),
        ("diff", "dark", 400, "all"),
        ("odd", "light", 1200, ""),
    ):
        browser.view(theme, width)
        browser.open_file(name)
        selector = {"bad": "details.bad", "all": "details.item"}.get(action)
        if selector:
            browser.run("document.querySelectorAll(arguments[0]).forEach((item) => { item.open = true })", selector)
        # The picture shows what is far below the window.
        browser.run(
            "const sheet = new CSSStyleSheet();"
            "sheet.replaceSync('.workload { content-visibility: visible !important }');"
            "document.adoptedStyleSheets = [sheet]"
        )
        browser.picture(f"{name}-{theme}-{width}")
    browser.view()


def main():
    browser = Browser()
    try:
        for step in (
            check_counts,
            check_filters,
            check_keyboard,
            check_accessibility,
            check_print,
            check_policy,
            check_size,
            draw,
        ):
            step(browser)
    finally:
        browser.driver.quit()


main()
