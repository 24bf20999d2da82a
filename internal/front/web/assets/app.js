// The pages work without this script. It adds keys, parts that load when they are seen, and
// sessions that are followed while they run.

const $ = (s, at = document) => at.querySelector(s);
const $$ = (s, at = document) => [...at.querySelectorAll(s)];

// fragment asks for a part of a page. The answer is HTML of the server, in which texts of
// others are escaped; the policy of the page runs no script in it.
async function fragment(url) {
  const r = await fetch(url, { headers: { Accept: "text/html", "Kerf-Part": "1" }, credentials: "same-origin" });
  if (!r.ok) throw new Error((await r.text()).slice(0, 500) || r.statusText);
  return r.text();
}

function parse(html) {
  const t = document.createElement("template");
  t.innerHTML = html;
  return t.content;
}

// --- parts that load when they are seen

const near = { rootMargin: "600px" };
const seen = new IntersectionObserver((list) => {
  for (const e of list) {
    if (!e.isIntersecting) continue;
    seen.unobserve(e.target);
    load(e.target);
  }
}, near);

async function load(el) {
  try {
    if (el.dataset.load) {
      el.replaceChildren(parse(await fragment(el.dataset.load)));
      if ($("[data-wait]", el)) later(() => load(el));
    }
    if (el.dataset.older) {
      const before = document.documentElement.scrollHeight - scrollY;
      const part = parse(await fragment(el.dataset.older));
      watchParts(part);
      el.replaceWith(part);
      scrollTo(0, document.documentElement.scrollHeight - before);
    }
  } catch (e) {
    el.textContent = "not loaded: " + e.message;
  }
}

function watchParts(at) {
  for (const el of $$("[data-load]", at)) seen.observe(el);
  for (const el of $$("[data-older]", at)) {
    $("a", el)?.addEventListener("click", (e) => { e.preventDefault(); load(el); });
  }
}

// --- parts that are not final: what they tell of is still being read

// later does something soon, when the page is seen.
function later(what) {
  setTimeout(() => document.hidden ? addEventListener("visibilitychange", what, { once: true }) : what(), 1000);
}

// refill shows another content; a link that had the focus has it again.
function refill(el, part) {
  const here = el.contains(document.activeElement) && document.activeElement.getAttribute("href");
  el.replaceChildren(part);
  if (here) $$("a", el).find((a) => a.getAttribute("href") === here)?.focus();
}

async function poll(el) {
  try {
    const part = parse(await fragment(el.dataset.poll));
    const go = $("[data-go]", part);
    if (go) return location.replace(go.href);
    refill(el, part);
  } catch { /* the server may be gone; it may come back */ }
  if ($("[data-wait]", el)) later(() => poll(el));
}

function watchPolls() {
  for (const el of $$("[data-poll]")) if ($("[data-wait]", el)) later(() => poll(el));
}

// --- parts that are asked for again while the page is seen

function watchAgain() {
  const el = $("[data-again]");
  if (!el) return;
  let last = "";
  const look = async () => {
    if (document.hidden) return;
    const text = await fragment(el.dataset.again).catch(() => last); // the server may be gone
    if (text === last) return;
    last = text;
    refill(el, parse(text));
  };
  setInterval(look, 3000);
  addEventListener("visibilitychange", look);
}

// --- diffs of any length: only the windows near the screen hold rows

const rowHeight = 20;
const windows = new IntersectionObserver((list) => {
  for (const e of list) e.isIntersecting ? fill(e.target) : empty(e.target);
}, { rootMargin: "1500px" });

async function fill(win) {
  if (win.dataset.full || !win.dataset.src) return;
  win.dataset.full = "1";
  try {
    const rows = parse(await fragment(win.dataset.src));
    if (win.dataset.full) win.replaceChildren(rows);
  } catch (e) {
    delete win.dataset.full;
    win.textContent = "not loaded: " + e.message;
  }
}

function empty(win) {
  if (!win.dataset.full || win.contains(document.activeElement)) return;
  delete win.dataset.full;
  win.replaceChildren();
}

function watchDiffs() {
  const diff = $("#diff"); // side by side, both halves have room for the longest line
  diff?.style.setProperty("--chars", diff.dataset.wide);
  for (const win of $$(".win")) {
    win.style.height = win.dataset.rows * rowHeight + "px";
    if ($(".r", win)) win.dataset.full = "1"; else win.replaceChildren();
    windows.observe(win);
  }
  for (const a of $$("[data-goto]")) {
    a.addEventListener("click", (e) => { e.preventDefault(); goTo(+a.dataset.goto); });
  }
  const file = /^#file-(\d+)$/.exec(location.hash);
  const link = file && $$("[data-goto]")[+file[1]];
  if (link) goTo(+link.dataset.goto);
}

function goTo(row) {
  const win = $$(".win").findLast((w) => +w.dataset.first <= row);
  if (!win) return;
  scrollTo(0, win.getBoundingClientRect().top + scrollY + (row - win.dataset.first) * rowHeight - 60);
}

// --- files over time

function watchScrub() {
  const form = $("[data-scrub]");
  if (!form) return;
  const at = form.elements.at, kept = ["at", "path", "dir", "find", "from"];
  let last = 0;
  const show = async () => {
    form.querySelector("output").textContent = at.value;
    const mine = ++last;
    const url = new URL(form.action);
    for (const name of kept) if (form.elements[name].value) url.searchParams.set(name, form.elements[name].value);
    history.replaceState(null, "", url);
    url.searchParams.set("part", "1");
    try {
      const part = parse(await fragment(url));
      if (mine !== last) return;
      const name = (a) => a && (a.closest("ul")?.ariaLabel ?? "") + a.textContent;
      const focused = name(document.activeElement?.closest("[data-moment]"));
      $("#moment").replaceChildren(part);
      if (focused) $$("[data-moment]").find((a) => name(a) === focused)?.focus();
    } catch (e) {
      $("#moment").textContent = "not loaded: " + e.message;
    }
  };
  form.addEventListener("input", () => { form.elements.from.value = ""; show(); });
  form.addEventListener("submit", (e) => { e.preventDefault(); show(); });
  document.addEventListener("click", (e) => {
    const a = e.target.closest("[data-moment]");
    if (!a || e.metaKey || e.ctrlKey || e.shiftKey) return;
    e.preventDefault();
    const to = new URL(a.href).searchParams;
    for (const name of kept.slice(1)) form.elements[name].value = to.get(name) ?? "";
    show();
  });
}

// --- a session that runs

// listen hears what happens in a session. A worker that all tabs share has the connection;
// where a browser has no such workers, each tab has one, as long as it is seen.
function listen(live, told) {
  const { session, last, worker } = live.dataset;
  if (!window.SharedWorker || !navigator.locks) return listenAlone(session, last, told);
  const shared = new SharedWorker(worker), lock = crypto.randomUUID();
  let heard = false, alone = false;
  const instead = () => {
    if (heard || alone) return;
    alone = true;
    shared.port.postMessage({ leave: true });
    listenAlone(session, last, told);
  };
  shared.onerror = instead; // it could not be loaded; not each browser says so each time
  setTimeout(instead, 5000);
  shared.port.onmessage = (e) => { heard = true; if (!alone) told(e.data.event, e.data.data); };
  navigator.locks.request(lock, () => {
    if (alone) return;
    shared.port.postMessage({ session, last, lock });
    return new Promise(() => {}); // held until the page is gone
  });
  addEventListener("pagehide", () => shared.port.postMessage({ leave: true }));
  addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
}

function listenAlone(session, last, told) {
  let source = null;
  const names = ["begin", "state", "turn", "item", "delta", "drop", "question", "answered", "end"];
  const close = () => { source?.close(); source = null; };
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(`/now/${session}/events?last=${last}`);
    for (const name of names) source.addEventListener(name, (e) => told(name, JSON.parse(e.data)));
    source.addEventListener("end", () => { removeEventListener("visibilitychange", seen); close(); });
    source.onerror = () => told("lost");
  };
  const seen = () => document.hidden ? close() : open();
  addEventListener("visibilitychange", seen);
  addEventListener("pagehide", close);
  open();
}

function follow() {
  const live = $("#live");
  if (!live) return;
  const state = $("#state"), questions = $("#questions");
  const items = new Map();
  let turn = live, ended = false;
  const atEnd = () => innerHeight + scrollY > document.documentElement.scrollHeight - 120;
  const keep = (change) => { const end = atEnd(); change(); if (end) scrollTo(0, document.documentElement.scrollHeight); };
  const say = (text) => { state.textContent = text; };
  const known = new Map(); // questions stay as they are, with what is written in them
  const on = {
    begin(d) { // for the first time, or again after the connection was lost
      items.clear();
      live.replaceChildren();
      questions.replaceChildren();
      turn = live;
      if (d.turns === undefined) return;
      $("#turns").replaceChildren(parse(d.turns));
      watchParts($("#turns"));
    },
    lost() { if (!ended) say("the connection is lost; trying again"); },
    state(d) { say(d.text); },
    turn(d) {
      turn = parse(d.html).firstElementChild;
      document.getElementById(turn.id)?.remove(); // it began just before the page was made
      live.append(turn);
    },
    item(d) {
      const el = parse(d.html).firstElementChild;
      const old = items.get(d.id);
      if (old) {
        const details = $("details", old), now = $("details", el);
        if (details && now) now.open = details.open;
        old.replaceWith(el);
      } else turn.append(el);
      items.set(d.id, el);
    },
    delta(d) {
      const at = items.get(d.id) && $("[data-text]", items.get(d.id));
      if (!at) return;
      at.classList.add("raw");
      at.append(d.text);
      while (at.childNodes.length > 20000) at.firstChild.remove();
    },
    drop(d) { items.get(d.id)?.remove(); items.delete(d.id); },
    question(d) {
      const same = known.get(d.id);
      if (same?.shown === d.shown) {
        if (!same.el.isConnected) questions.append(same.el);
        return;
      }
      const el = parse(d.html).firstElementChild;
      same?.el.isConnected ? same.el.replaceWith(el) : questions.append(el);
      known.set(d.id, { shown: d.shown, el });
      settle(el);
    },
    answered(d) { known.get(d.id)?.el.remove(); known.delete(d.id); },
    end(d) { ended = true; say(d.text); for (const b of $$(".steer button")) b.disabled = true; },
  };
  listen(live, (event, data) => keep(() => on[event]?.(data)));
}

// settle keeps the answers of a question from being given by a click or key that was meant
// for something else: they count after the question was up for a second. The hidden button
// stays off: enter in a field would press the first button of a form, which allows.
function settle(el) {
  const buttons = $$("button:not([hidden])", el);
  for (const b of buttons) b.disabled = true;
  setTimeout(() => { for (const b of buttons) b.disabled = false; }, 1000);
}

function watchForms() {
  document.addEventListener("submit", async (e) => {
    const form = e.target.closest("[data-post]");
    if (!form) return;
    e.preventDefault();
    const button = e.submitter, result = $(".result", form);
    const lasting = button?.value === "always" || button?.value === "session";
    if (lasting && !confirm(button.textContent.trim() + "\n\nThis answer holds for longer than once.")) return;
    const body = new URLSearchParams(new FormData(form, button));
    if (button) button.disabled = true;
    try {
      const r = await fetch(button?.getAttribute("formaction") || form.getAttribute("action"),
        { method: "POST", body, headers: { Accept: "text/plain" }, credentials: "same-origin" });
      const text = (await r.text()).trim();
      if (result) result.textContent = text;
      if (r.ok && !form.matches("[data-answer]")) form.reset();
    } catch (err) {
      if (result) result.textContent = "not sent: " + err.message;
    }
    if (button) button.disabled = false;
  });
}

// --- keys

function rows() { return $$("[data-nav]").filter((a) => a.offsetParent !== null); }

function step(by) {
  const list = rows();
  if (!list.length) return false;
  let at = list.indexOf(document.activeElement);
  if (at < 0) {
    const first = list.findIndex((a) => a.getBoundingClientRect().top >= 0);
    at = by > 0 ? (first < 0 ? list.length : first) - 1 : first < 0 ? list.length : first;
  }
  const next = list[Math.max(0, Math.min(list.length - 1, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function watchKeys() {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    const typing = e.target.closest?.("input:not([type=checkbox]):not([type=radio]):not([type=range]),textarea,select");
    if (e.key === "Escape" && typing) return e.target.blur();
    if (typing || $("dialog[open]")) return;
    const pages = $$("header nav a");
    switch (e.key) {
      case "j": if (!step(1)) scrollBy(0, 100); break;
      case "k": if (!step(-1)) scrollBy(0, -100); break;
      case "u": {
        const from = document.activeElement?.closest?.("[data-undo]") || $("[data-undo]");
        if (from) location.href = from.dataset.undo;
        break;
      }
      case "/": {
        const field = $("input[type=search]") || $("#steer");
        field ? field.focus() : location.href = "/#search"; // the sessions have a search
        break;
      }
      case "?": $("#keys").showModal(); break;
      default:
        if (!/^[1-9]$/.test(e.key) || !pages[e.key - 1]) return;
        location.href = pages[e.key - 1].href;
    }
    e.preventDefault();
  });
}

// begin goes to what the address names: the search, or a call, whose output opens.
function begin() {
  if (location.hash === "#search") $("input[type=search]")?.focus();
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = target && $("details", target);
  if (details && target.matches(".item")) {
    details.open = true;
    target.scrollIntoView();
    $("summary", details).focus({ preventScroll: true });
  }
}

watchParts(document);
watchPolls();
watchAgain();
watchDiffs();
watchScrub();
watchForms();
watchKeys();
follow();
begin();
document.documentElement.dataset.ready = "1";
