"use strict";

// predictor returns a function that predicts a row of features, in the units of the table, from the
// numbers of gp.Explicit: for each target the mean and the standard deviation of the function (null
// without the factor), as in Rasmussen & Williams (2006), eq. 2.25, 2.26, 2.41 and 2.42.
function predictor(model) {
  const numbers = text => {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return new Float64Array(bytes.buffer);
  };
  const {n, columns} = model, d = columns.length;
  const x = numbers(model.x), factor = model.factor ? numbers(model.factor) : null;
  const alphas = model.targets.map(t => numbers(t.alpha));
  const turn = a => { const rest = a - Math.round(a); return 2 * Math.PI * rest; };
  // erf sums the series 2/√π·exp(−a²)·Σ 2ᵏa²ᵏ⁺¹/(1·3·…·(2k + 1)), whose terms have one sign.
  const erf = a => {
    if (Math.abs(a) > 6) return Math.sign(a);
    let term = a, sum = a;
    for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum); k++) sum += term *= 2 * a * a / (2 * k + 1);
    return 2 / Math.sqrt(Math.PI) * Math.exp(-a * a) * sum;
  };
  const measures = {
    squared_distance: (a, b) => (a - b) * (a - b), inner_product: (a, b) => a * b, differences: (a, b) => a - b,
    sin_squares: (a, b, p) => { const s = Math.sin(turn((a - b) / p) / 2); return s * s; },
    mismatches: (a, b) => a === b ? 0 : 1, first: a => a, second: (a, b) => b, first_norm: a => a * a, second_norm: (a, b) => b * b,
  };
  const functions = {
    exp: Math.exp, log: Math.log, log_or_0: a => a === 0 ? 0 : Math.log(a), log1p: Math.log1p, sqrt: Math.sqrt,
    inverse_sqrt: a => a === 0 ? 0 : 1 / Math.sqrt(a), sin_turns: a => Math.sin(turn(a)), cos_turns: a => Math.cos(turn(a)),
    tanh: Math.tanh, asin: Math.asin, erf, sinc: a => a === 0 ? 1 : Math.sin(a) / a, abs: Math.abs, positive: a => Math.max(a, 0), step: a => a > 0 ? 1 : a <= 0 ? 0 : a,
  };
  const power = (a, p) => p < 0 ? 1 / power(a, -p) : p === 1 ? a : p === 2 ? a * a : a ** p;
  const values = new Float64Array(model.operations.length), measured = new Float64Array(model.features.length);
  // covariance returns k(a, b), of rows that begin at places of two lists.
  const covariance = (a, ia, b, ib) => {
    model.features.forEach((f, k) => {
      const measure = measures[f.kind];
      let sum = 0;
      f.columns.forEach((c, q) => { sum += f.weights[q] * measure(a[ia + c], b[ib + c], f.periods ? f.periods[q] : 1); });
      measured[k] = sum;
    });
    model.operations.forEach((o, k) => {
      const of = o.of || [], first = values[of[0]];
      switch (o.op) {
        case "number": values[k] = o.number; break;
        case "feature": values[k] = measured[o.feature]; break;
        case "sum": values[k] = of.reduce((sum, v, i) => sum + o.coefficients[i] * values[v], o.constant || 0); break;
        case "product": values[k] = of.reduce((all, v, i) => all * power(values[v], o.powers[i]), 1); break;
        case "power": values[k] = first ** o.exponent; break;
        case "decay": {
          const t = Math.sqrt(first);
          values[k] = t === Infinity ? 0 : o.coefficients.reduceRight((sum, c) => sum * t + c, 0) * Math.exp(-t);
          break;
        }
        default: values[k] = functions[o.op](first);
      }
    });
    return values[values.length - 1];
  };
  // bent transforms a value of a column with a long tail, as Yeo & Johnson do.
  const bent = (v, of) => {
    if (!of) return v;
    const u = (v - of.shift) / of.unit, l = Math.log1p(Math.abs(u)), exponent = u < 0 ? 2 - of.lambda : of.lambda;
    return Math.sign(u) * (exponent === 0 ? l : Math.expm1(exponent * l) / exponent);
  };
  const basis = (f, row, at) => {
    const v = row[at + (f.column || 0)];
    switch (f.type) {
      case "linear": return v;
      case "power": return v ** f.power;
      case "cos": return Math.cos((2 * Math.PI * (v - f.centre)) / f.width);
      case "sin": return Math.sin((2 * Math.PI * (v - f.centre)) / f.width);
      case "bump": return Math.exp(-(((v - f.centre) / f.width) ** 2) / 2);
    }
    return 1;
  };
  // below solves Lz = b for the lower triangle L, stored by rows.
  const below = (lower, b) => {
    const z = Float64Array.from(b);
    for (let i = 0, at = 0; i < z.length; i++) {
      let sum = z[i];
      for (let j = 0; j < i; j++) sum -= lower[at++] * z[j];
      z[i] = sum / lower[at++];
    }
    return z;
  };
  const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
  // The coefficients of the mean that least squares found are uncertain, too: the triangle of their
  // information matrix.
  const functionsOf = factor && model.least_squares ? model.targets[0].mean : [];
  const solved = functionsOf.map(f => below(factor, Array.from({length: n}, (_, i) => basis(f, x, i * d))));
  const information = [];
  solved.forEach((a, i) => {
    for (let j = 0; j <= i; j++) {
      let sum = dot(a, solved[j]);
      for (let k = 0; k < j; k++) sum -= information[i * (i + 1) / 2 + k] * information[j * (j + 1) / 2 + k];
      information.push(i === j ? Math.sqrt(sum) : sum / information[j * (j + 1) / 2 + j]);
    }
  });
  return features => {
    const row = columns.map((c, i) => (bent(features[c], model.x_transforms?.[i]) - model.x_mean[i]) / model.x_scale[i]);
    const k = new Float64Array(n);
    for (let i = 0; i < n; i++) k[i] = covariance(row, 0, x, i * d);
    let variance = null;
    if (factor) {
      const v = below(factor, k);
      variance = Math.max(covariance(row, 0, row, 0) + (functionsOf.length ? 0 : -dot(v, v)), 0);
      if (functionsOf.length) {
        const w = below(information, functionsOf.map((f, j) => basis(f, row, 0) - dot(solved[j], v)));
        variance = Math.max(variance + dot(w, w) - dot(v, v), 0);
      }
    }
    return model.targets.map((t, i) => ({
      mean: (dot(alphas[i], k) + t.mean.reduce((sum, f) => sum + f.coefficient * basis(f, row, 0), 0)) * t.y_scale + t.y_mean,
      std: variance === null ? null : Math.sqrt(variance) * t.y_scale,
    }));
  };
}

// element returns a new element with attributes and children.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const shortened = v => String(Number(v.toPrecision(5))).replace("-", "−");

// addSliders shows a control for each column, and the prediction of the row that they make.
function addSliders(box, data) {
  const predict = predictor(data.model), features = Float64Array.from(data.typical);
  const result = element("div", {class: "prediction", role: "status"});
  const show = () => {
    result.replaceChildren(...predict(features).map((p, i) => {
      const interval = (what, std) => `; 95 % of ${what} ${shortened(p.mean - 1.959964 * std)} … ${shortened(p.mean + 1.959964 * std)}`;
      let text = "";
      if (p.std !== null) text += interval("the function", p.std);
      if (p.std !== null && data.noise) text += interval("new observations", Math.hypot(p.std, data.noise[i]));
      return element("p", {}, element("strong", {}, `${data.model.targets[i].name} ${shortened(p.mean)}`), text);
    }));
  };
  const grid = element("div", {class: "sliders"});
  data.columns.forEach((c, at) => {
    const id = `column${at}`, label = element("label", {for: id}, c.name);
    if (c.categories) {
      const select = element("select", {id}, ...c.categories.map((text, i) => element("option", {value: i}, text)));
      select.selectedIndex = c.value;
      select.addEventListener("input", () => {
        c.encoded[select.selectedIndex].forEach((v, i) => { features[c.first + i] = v; });
        show();
      });
      grid.append(label, select, element("span", {}));
      return;
    }
    const slider = element("input", {id, type: "range", min: c.low, max: c.high, step: c.step, value: c.value});
    const day = v => new Date(c.dates[0] + (v - c.low) / (c.high - c.low) * (c.dates[1] - c.dates[0])).toISOString().slice(0, 16).replace("T", " ").replace(" 00:00", "");
    const exact = c.dates ? element("output", {for: id}, day(c.value)) : element("input", {type: "number", step: "any", "aria-label": `${c.name}, exact`, value: c.value});
    slider.addEventListener("input", () => {
      features[c.first] = Number(slider.value);
      if (c.dates) exact.textContent = day(features[c.first]);
      else exact.value = Number(features[c.first].toPrecision(6));
      show();
    });
    if (!c.dates) exact.addEventListener("input", () => {
      if (!Number.isFinite(exact.valueAsNumber)) return;
      features[c.first] = exact.valueAsNumber;
      slider.value = exact.value;
      show();
    });
    grid.append(label, slider, exact);
  });
  box.append(grid, result);
  show();
}

// addSorting puts a button into each head of a table, which sorts the rows by its column.
function addSorting(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 3) return;
  const key = row => text => {
    const words = row.cells[text].textContent.trim(), number = parseFloat(words.replace(/^−/, "-").replace(/^[-–]$/, ""));
    return {words, number: /^[−-]?[\d.]/.test(words) ? number : words === "∞" ? Infinity : NaN};
  };
  heads.forEach((head, at) => {
    const button = element("button", {type: "button"}, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map(row => ({row, ...key(row)(at)}));
      const numeric = rows.some(r => !Number.isNaN(r.number));
      rows.sort((a, b) => {
        if (!numeric) return (up ? 1 : -1) * a.words.localeCompare(b.words, "en", {numeric: true});
        if (Number.isNaN(a.number) || Number.isNaN(b.number)) return Number.isNaN(a.number) - Number.isNaN(b.number);
        return (up ? 1 : -1) * (a.number === b.number ? 0 : a.number - b.number);
      });
      body.append(...rows.map(r => r.row));
    });
  });
}

// addMarks shows the values of the nearest mark under the pointer.
function addMarks(svg, tip) {
  const marks = JSON.parse(svg.dataset.marks).flatMap(chart => chart.layers.flatMap(layer => layer.at.map(at => ({chart, layer, at}))));
  if (!marks.length) return;
  const ring = document.createElementNS(svg.namespaceURI, "circle");
  ring.setAttribute("r", 5);
  ring.setAttribute("class", "ring");
  const hide = () => { ring.remove(); tip.hidden = true; };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", event => {
    const to = svg.getScreenCTM(), here = new DOMPoint(event.clientX, event.clientY).matrixTransform(to.inverse());
    let best = null, least = 25 * 25;
    for (const mark of marks) {
      const far = (mark.at[0] - here.x) ** 2 + (mark.at[1] - here.y) ** 2;
      if (far < least) [best, least] = [mark, far];
    }
    if (!best) return hide();
    const {chart, layer, at} = best;
    ring.setAttribute("cx", at[0]);
    ring.setAttribute("cy", at[1]);
    if (!ring.isConnected) svg.append(ring);
    const lines = [at[4] || layer.name, `${chart.x || "x"} ${at[2]}`, `${chart.y || "y"} ${at[3]}`].filter(Boolean);
    tip.replaceChildren(...lines.map(text => element("div", {}, text)));
    tip.hidden = false;
    const place = new DOMPoint(at[0], at[1]).matrixTransform(to), wide = document.documentElement.clientWidth;
    tip.style.top = `${place.y + window.scrollY + 10}px`;
    tip.style.left = `${Math.max(4, Math.min(place.x + 10, wide - tip.offsetWidth - 4)) + window.scrollX}px`;
  });
}

if (typeof document !== "undefined") {
  document.querySelectorAll("table").forEach(addSorting);
  const tip = element("div", {class: "tip", "aria-hidden": "true"});
  tip.hidden = true;
  document.querySelector("main").append(tip);
  document.querySelectorAll("svg[data-marks]").forEach(svg => addMarks(svg, tip));
  document.querySelectorAll(".what-if").forEach(box => addSliders(box, JSON.parse(box.querySelector("script").textContent)));
}
