"""The study as a page: Figure 4 of the paper for one's own data. Internal, not private."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from mare.evaluation.evaluation import INTERNAL
from mare.evaluation.measured import KINDS
from mare.evaluation.study import FIGURES, NOT_CHARGED, Figure, Study, Tried
from mare.verdicts.shell import table, whole_page

from .figures import as_json


def render_study(study: Study) -> str:
    """The whole file."""
    name = study.name or "a schema"
    sections = "".join(_section(study, figure, title) for figure, title in FIGURES.items())
    body = f"""<header>
<h1>{escape(f"Study of {name}")} <small class="status internal">internal, not private</small></h1>
<p class="alarm">{escape(NOT_CHARGED[0].upper() + NOT_CHARGED[1:])}.</p>
<p>{study.entities[0]:,} entities were fitted, {study.entities[1]:,} were held out as a reference. Every fit was thrown away.
The ablation was made with ε = {study.ablation[0].epsilon:g}.</p>
</header>
{sections}
<p class="quiet">{escape(INTERNAL)}</p>
<script type="application/json" id="numbers">{as_json(_numbers(study))}</script>"""
    script, style = ((files(__package__) / name).read_text(encoding="utf-8") for name in ("draw.js", "report.css"))
    return whole_page(f"Study of {name} (internal, not private)", body, script + _SCRIPT, style)


def _section(study: Study, figure: Figure, title: str) -> str:
    plots = "".join(
        f'<figure><figcaption>{KINDS[kind]}</figcaption><div class="plot" id="{figure}-{kind}"></div></figure>'
        for kind in study.kinds
    )
    last = [[label, *(f"{value:.3f}" for value in held)] for label, held in study.best(figure).items()]
    head = [KINDS[kind] for kind in study.kinds]
    right = range(1, len(head) + 1)
    budgets = [[f"ε = {tried.epsilon:g}", *_figures(study, tried, figure)] for tried in study.privacy]
    histories = [[tried.looks, *_figures(study, tried, figure)] for tried in study.ablation]
    return f"""<section>
<h2>{escape(title)}</h2>
<p class="keys"><span><i class="set synthetic"></i>synthetic</span><span><i class="set holdout"></i>other real people</span></p>
<div class="grids">{plots}</div>
<h3>Privacy</h3>
{table(["budget", *head], [*budgets, *last], right)}
<h3>Ablation</h3>
{table(["a row looks at", *head], [*histories, *last], right)}
</section>
"""


def _figures(study: Study, tried: Tried, figure: Figure) -> list[str]:
    """Means, and how far the fits lie apart where there are several."""
    cells = []
    for kind in study.kinds:
        low, high = tried.spread(kind, figure)
        apart = f" ({low:.3f} to {high:.3f})" if len(tried.fits) > 1 else ""
        cells.append(f"{tried.mean(kind, figure):.3f}{apart}")
    return cells


def _numbers(study: Study) -> dict[str, object]:
    return {
        "epsilons": [tried.epsilon for tried in study.privacy],
        "plots": {
            f"{figure}-{kind}": {
                "synthetic": [round(tried.mean(kind, figure), 4) for tried in study.privacy],
                "holdout": round(getattr(study.reference[kind], figure), 4),
            }
            for figure in FIGURES
            for kind in study.kinds
        },
    }


_SCRIPT = """
const { epsilons, plots } = JSON.parse(document.getElementById("numbers").textContent);
function draw() {
  for (const [id, { synthetic, holdout }] of Object.entries(plots)) {
    const x = epsilons.map((_, i) => i);
    document.getElementById(id).replaceChildren(curves({
      x, series: [synthetic, synthetic.map(() => holdout)], names: ["synthetic", "holdout"], unit: "ε", marks: true,
      ticks: epsilons.map((epsilon, at) => ({ at, text: String(epsilon) })), label: id, widest: 340,
      high: id.startsWith("kl") ? 1 : Math.min(1, 1.2 * Math.max(0.1, holdout, ...synthetic)),
    }));
  }
}
draw();
addEventListener("resize", draw);
"""
