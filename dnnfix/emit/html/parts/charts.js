"use strict";
(() => {
  const HEIGHT = 168;
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const colour = "datum.side === 'before' ? 'var(--before)' : datum.side === 'after' ? 'var(--accent)' : 'var(--' + datum.side + ')'";

  const pointsOf = (lines) => lines.flatMap((line, place) => line.values.map((y, at) => ({
    x: line.steps[at], y, side: line.side, label: line.label, key: String(place),
  })));

  // A loss that falls by orders of magnitude is a straight story on a logarithmic axis alone.
  const logarithmic = (points) => {
    const known = points.map((point) => point.y).filter((y) => y !== null);
    return Math.min(...known) > 0 && Math.max(...known) / Math.min(...known) > 50;
  };

  // Powers of ten, six at most: the ticks between them make a logarithmic axis a wall of lines.
  const powers = (points) => {
    const known = points.map((point) => point.y).filter((y) => y !== null);
    const low = Math.floor(Math.log10(Math.min(...known))), high = Math.ceil(Math.log10(Math.max(...known)));
    const step = Math.ceil((high - low) / 6);
    return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, at) => 10 ** (low + at * step));
  };

  const specOf = (points, title, width) => {
    const log = logarithmic(points);
    const size = Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.74);
    const axis = { labelColor: "var(--soft)", domainColor: "var(--line)", tickColor: "var(--line)", gridColor: "var(--line)", labelFontSize: size, titleFontSize: size, titleFontWeight: "normal", titleColor: "var(--soft)" };
    return {
      $schema: "https://vega.github.io/schema/vega/v6.json",
      description: title,
      width, height: HEIGHT, padding: { left: 6, top: 4, right: 4, bottom: 2 },
      autosize: { type: "fit", contains: "padding" },
      signals: [
        { name: "before", value: true }, { name: "after", value: true }, { name: "nearest", value: null },
      ],
      data: [
        { name: "points", values: points, transform: [{ type: "filter", expr: "datum.side === 'before' ? before : datum.side === 'after' ? after : true" }] },
        { name: "whole", values: points },
      ],
      scales: [
        { name: "x", type: "linear", domain: { data: "whole", field: "x" }, range: "width", zero: false },
        { name: "y", type: log ? "log" : "linear", domain: { data: "whole", field: "y" }, range: "height", nice: true, zero: false },
      ],
      axes: [
        { ...axis, scale: "x", orient: "bottom", tickCount: 5, title: "step", titlePadding: 2 },
        { ...axis, ...(log ? { values: powers(points) } : { tickCount: 5 }), scale: "y", orient: "left", grid: true, domain: false, ticks: false, labelPadding: 6, encode: { labels: { update: { text: { signal: "abs(datum.value) >= 1e5 || (datum.value && abs(datum.value) < 1e-3) ? format(datum.value, '.1~e') : format(datum.value, '~r')" } } } } },
      ],
      marks: [
        {
          type: "group",
          from: { facet: { name: "line", data: "points", groupby: "key" } },
          marks: [{
            type: "line",
            from: { data: "line" },
            encode: { update: {
              x: { scale: "x", field: "x" }, y: { scale: "y", field: "y" },
              defined: { signal: "isValid(datum.y)" },
              stroke: { signal: colour },
              strokeDash: { signal: "datum.side === 'before' ? [4, 3] : []" },
              strokeWidth: { signal: "nearest && nearest.key === datum.key ? 2.8 : 1.5" },
              strokeOpacity: { signal: "!nearest || nearest.key === datum.key ? 1 : 0.35" },
              strokeJoin: { value: "round" },
            } },
          }],
        },
        {
          type: "symbol",
          encode: { update: {
            x: { signal: "nearest ? scale('x', nearest.x) : 0" }, y: { signal: "nearest ? scale('y', nearest.y) : 0" },
            opacity: { signal: "nearest ? 1 : 0" }, size: { value: 46 },
            fill: { signal: "nearest ? (nearest.side === 'before' ? 'var(--before)' : nearest.side === 'after' ? 'var(--accent)' : 'var(--' + nearest.side + ')') : 'none'" },
            stroke: { value: "var(--sheet)" }, strokeWidth: { value: 1.5 },
          } },
        },
      ],
    };
  };

  const named = { before: ", before", after: ", with the patch" };

  const drawn = new WeakMap();

  const draw = (plot) => {
    const points = pointsOf(JSON.parse(plot.parentElement.querySelector("script").textContent));
    const width = Math.max(200, plot.clientWidth);
    const surface = document.createElement("div");
    surface.setAttribute("aria-hidden", "true"); // the table beneath has the numbers
    plot.replaceChildren(surface);
    const view = new vega.View(vega.parse(specOf(points, plot.dataset.title, width)), { renderer: "svg", container: surface, hover: false });
    view.logLevel(vega.Error);
    view.run();
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    plot.append(tip);
    const known = points.filter((point) => point.y !== null);
    const leave = () => { tip.hidden = true; if (view.signal("nearest")) view.signal("nearest", null).run(); };
    plot.addEventListener("pointermove", (event) => {
      const box = surface.getBoundingClientRect(), [left, top] = view.origin();
      const x = view.scale("x"), y = view.scale("y");
      const pad = view.padding(), px = event.clientX - box.left - left - pad.left, py = event.clientY - box.top - top - pad.top;
      let best = null, least = 40 * 40;
      for (const point of known) {
        if ((point.side === "before" || point.side === "after") && !view.signal(point.side)) continue;
        const far = (x(point.x) - px) ** 2 + (y(point.y) - py) ** 2;
        if (far < least) { least = far; best = point; }
      }
      if (!best) return leave();
      if (view.signal("nearest") !== best) view.signal("nearest", best).run();
      tip.textContent = `${best.label}${named[best.side] ?? ""}: ${number.format(best.y)} at step ${number.format(Math.round(best.x))}`;
      tip.hidden = false;
      const room = plot.clientWidth - tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(room, left + x(best.x) - tip.offsetWidth / 2))}px`;
      tip.style.top = `${Math.max(0, top + y(best.y) - tip.offsetHeight - 10)}px`;
    });
    plot.addEventListener("pointerleave", leave);
    new ResizeObserver(() => {
      const now = Math.max(200, plot.clientWidth);
      if (plot.clientWidth && Math.abs(now - view.width()) > 1) view.width(now).run();
    }).observe(plot);
    return view;
  };

  window.dnnfixDraw = (curves) => {
    if (drawn.has(curves)) return;
    const views = [...curves.querySelectorAll(".plot")].map(draw);
    drawn.set(curves, views);
    const legend = curves.querySelector(".legend");
    if (!legend) return;
    legend.hidden = false;
    legend.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const view of views) view.signal(button.dataset.side, shown).run();
    });
  };
})();
