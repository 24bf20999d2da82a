// All tabs of a browser follow their sessions over one connection: a browser allows six to
// one server. This worker holds it, and hands each tab what is for it.

const tabs = new Map(); // by number: { port, session, last, joined }
let last = 0, source = null, carrier = "";

onconnect = (e) => {
  const port = e.ports[0];
  let mine = 0;
  port.onmessage = ({ data }) => {
    if (data.leave) return leave(mine);
    mine = ++last;
    const n = mine;
    tabs.set(n, { port, session: data.session, last: data.last });
    navigator.locks.request(data.lock, () => leave(n)); // the tab holds it as long as it lives
    if (carrier) join(n); else connect();
  };
};

function connect() {
  if (source) return;
  source = new EventSource("/now/events");
  source.addEventListener("carrier", (e) => {
    carrier = JSON.parse(e.data);
    for (const n of tabs.keys()) join(n);
  });
  source.addEventListener("told", (e) => {
    const { n, event, data } = JSON.parse(e.data);
    tell(n, event, data);
  });
  source.onerror = () => {
    carrier = "";
    for (const n of tabs.keys()) tell(n, "lost");
    if (source.readyState === EventSource.CLOSED) source = null;
  };
}

function tell(n, event, data) { tabs.get(n)?.port.postMessage({ event, data }); }

function join(n) {
  const tab = tabs.get(n);
  const what = new URLSearchParams({ session: tab.session, last: tab.last });
  tab.joined = fetch(`/now/events/${carrier}/${n}?${what}`, { headers: { Accept: "text/plain" } })
    .then(async (r) => { if (r.status === 404) tell(n, "end", { text: (await r.text()).trim() }); })
    .catch(() => {}); // the connection is lost, too
}

// leave waits until the server knows the stream that is left.
function leave(n) {
  const tab = tabs.get(n), over = carrier;
  if (!tabs.delete(n)) return;
  if (!tabs.size) {
    source?.close();
    source = null;
    carrier = "";
  } else if (over) {
    tab.joined?.then(() => fetch(`/now/events/${over}/${n}`)).catch(() => {});
  }
}
