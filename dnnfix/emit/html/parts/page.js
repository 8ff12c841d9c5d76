"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const say = (text) => { document.getElementById("said").textContent = text; };
  const remembered = {
    get(name) { try { return localStorage.getItem("dnnfix-" + name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem("dnnfix-" + name, value); } catch { /* a page of a file may not */ } },
  };

  // --- colours ---
  const theme = document.getElementById("theme");
  const paint = (value) => {
    if (value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
  };
  theme.hidden = false;
  theme.addEventListener("change", (event) => { paint(event.target.value); remembered.set("theme", event.target.value); });
  const chosen = all("input", theme).find((input) => input.value === remembered.get("theme"));
  if (chosen) { chosen.checked = true; paint(chosen.value); }

  // --- patches ---
  const bytesOf = (patch) => Uint8Array.from(atob(patch.dataset.diff), (one) => one.charCodeAt(0));
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* no permission, or no such thing */ }
    const field = document.createElement("textarea");
    field.value = text;
    field.style.position = "fixed";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy, .save");
    if (!button) return;
    const patch = button.closest(".patch");
    const label = button.dataset.label ??= button.textContent;
    if (button.matches(".copy")) {
      const done = await copy(new TextDecoder().decode(bytesOf(patch)));
      button.textContent = done ? "Copied" : "Could not copy";
      say(done ? "The patch was copied" : "The patch could not be copied: download it");
      button.focus();
    } else {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([bytesOf(patch)], { type: "text/x-diff" }));
      link.download = patch.dataset.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      say("The patch was downloaded");
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });

  // --- side by side: the rows of the unified table, paired ---
  const cell = (name, nodes) => {
    const made = document.createElement("td");
    made.className = name;
    made.append(...nodes);
    return made;
  };
  const half = (row, place) => row
    ? [cell("no " + row.className, [row.cells[place].textContent]), cell("sign " + row.className, [row.cells[2].textContent]), cell("text " + row.className, [row.cells[3].firstChild.cloneNode(true)])]
    : [cell("no none", []), cell("sign none", []), cell("text none", [])];
  const paired = (rows) => {
    const made = document.createElement("tbody");
    const put = (left, right) => { const line = made.insertRow(); line.append(...half(left, 0), ...half(right, 1)); };
    for (let at = 0; at < rows.length;) {
      const olds = [], news = [];
      while (at < rows.length && rows[at].className === "old") olds.push(rows[at++]);
      while (at < rows.length && rows[at].className === "new") news.push(rows[at++]);
      for (let n = 0; n < Math.max(olds.length, news.length); n++) put(olds[n], news[n]);
      if (olds.length || news.length) continue;
      if (rows[at].className === "gap") {
        const line = made.insertRow();
        line.className = "gap";
        const gap = line.insertCell();
        gap.colSpan = 6;
        gap.textContent = "⋯";
      } else put(rows[at], rows[at]);
      at++;
    }
    return made;
  };
  const unified = new WeakMap();
  const lay = (diff, layout) => {
    const table = diff.querySelector("table");
    if (!unified.has(diff)) unified.set(diff, [table.tHead, table.tBodies[0]]);
    const [head, body] = unified.get(diff);
    const split = layout === "split";
    if (diff.classList.contains("split") === split) return;
    diff.classList.toggle("split", split);
    table.replaceChildren(...(split ? [paired([...body.rows])] : [head, body]));
  };
  document.addEventListener("change", (event) => {
    const input = event.target.closest(".layout input");
    if (!input) return;
    remembered.set("layout", input.value);
    for (const other of all(`.layout input[value="${input.value}"]`)) other.checked = true;
    for (const patch of all(".patch")) if (shows(patch)) lays(patch, input.value);
  });
  const lays = (patch, layout) => all(".diff", patch).forEach((diff) => lay(diff, layout));
  const shows = (element) => { for (let at = element.parentElement?.closest("details"); at; at = at.parentElement.closest("details")) if (!at.open) return false; return true; };

  // --- of a long line, what is marked is shown ---
  const turn = (code) => {
    const mark = code.querySelector("mark");
    if (!mark || code.scrollLeft) return;
    const [inner, outer] = [mark.getBoundingClientRect(), code.getBoundingClientRect()];
    if (Math.min(inner.right, inner.left + outer.width / 2) > outer.right) code.scrollLeft = inner.left - outer.left - outer.width / 3;
  };

  // --- what is opened is made ready: nothing is drawn for what nobody looks at ---
  const ready = (root) => {
    for (const patch of all(".patch", root)) {
      if (!shows(patch)) continue;
      for (const tool of all(".layout, .copy, .save", patch)) tool.hidden = false;
      const layout = remembered.get("layout");
      if (layout === "split") { all('.layout input[value="split"]', patch).forEach((one) => { one.checked = true; }); lays(patch, layout); }
    }
    for (const code of all(".code", root)) if (shows(code)) turn(code);
    for (const charts of all(".curves", root)) if (shows(charts)) window.dnnfixDraw?.(charts);
  };
  document.addEventListener("toggle", (event) => { if (event.target.open) ready(event.target); }, true);

  // --- links into a closed finding open it ---
  const reveal = () => {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no name of ours */ }
    for (let at = target?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    target?.scrollIntoView();
    target?.querySelector?.("summary")?.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);

  // --- filter ---
  const query = document.getElementById("query");
  if (query) {
    query.closest(".filter").hidden = false;
    const findings = all(".finding").map((one) => [one, (one.querySelector("summary").textContent + " " + (one.closest(".file")?.querySelector("h2")?.textContent ?? "")).toLowerCase()]);
    const links = new Map(all(".contents a").map((link) => [link.getAttribute("href"), link]));
    query.addEventListener("input", () => {
      const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const [one, text] of findings) {
        one.hidden = !words.every((word) => text.includes(word));
        left += !one.hidden;
        const link = links.get(`#${one.id}`);
        if (link) link.parentElement.hidden = one.hidden;
      }
      for (const file of all(".file")) file.hidden = words.length > 0 && !all(".finding", file).some((one) => !one.hidden);
      for (const item of all(".contents > li")) item.hidden = words.length > 0 && !all("ol > li", item).some((one) => !one.hidden);
      document.getElementById("left").textContent = words.length ? `${left} of ${findings.length}` : "";
    });
  }

  // --- print: everything is on paper ---
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const one of closed) one.open = true;
    ready(document);
  });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });

  addEventListener("DOMContentLoaded", () => { ready(document); if (location.hash) reveal(); });
})();
