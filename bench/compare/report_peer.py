"""Pages of other libraries for report.py: their scripts alone, and 15,000 rectangles in a grid of
150 by 100. Prints the bytes of the scripts as JSON. Argument: a folder for the pages."""

import json
import pathlib
import sys

import altair
import bokeh.embed
import bokeh.plotting
import bokeh.resources
import plotly.offline
import vl_convert

COLUMNS, ROWS = 150, 100


def tell(page, condition):
    """The page, which says that it is ready once the condition holds and it is drawn."""
    before, end, after = page.rpartition("</body>")
    return before + "<script>(() => { const wait = () => " + condition + \
        " ? requestAnimationFrame(() => document.documentElement.setAttribute('data-ready', ''))" \
        " : setTimeout(wait, 5); wait(); })();</script>" + end + after


def write_vega(folder):
    bundle = vl_convert.javascript_bundle()
    altair.data_transformers.disable_max_rows()
    values = [{"x": i % COLUMNS, "y": i // COLUMNS, "kind": i % 7} for i in range(COLUMNS * ROWS)]
    chart = altair.Chart(altair.Data(values=values)).mark_rect().encode(
        x="x:O", y="y:O", color="kind:N").properties(width=1100, height=500)
    page = chart.to_html(inline=True)
    (folder / "vega.html").write_text(tell(page, "document.querySelector('canvas, svg')"))
    return len(bundle)


def write_bokeh(folder):
    figure = bokeh.plotting.figure(width=1100, height=500, output_backend="canvas")
    numbers = range(COLUMNS * ROWS)
    colours = ["#1f5fc4", "#a84c08", "#0f6b5c", "#6b3fb5", "#c2255c", "#7a5c00", "#55606e"]
    figure.rect(x=[i % COLUMNS for i in numbers], y=[i // COLUMNS for i in numbers], width=0.9,
                height=0.9, color=[colours[i % 7] for i in numbers])
    page = bokeh.embed.file_html(figure, bokeh.resources.INLINE, "rectangles")
    (folder / "bokeh.html").write_text(tell(
        page, "window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle"))
    return sum(len(each) for each in
               bokeh.resources.Resources(mode="inline", components=["bokeh"]).js_raw)


def main(folder):
    folder = pathlib.Path(folder)
    print(json.dumps({"vega_bytes": write_vega(folder), "bokeh_bytes": write_bokeh(folder),
                      "plotly_bytes": len(plotly.offline.get_plotlyjs())}))


if __name__ == "__main__":
    main(sys.argv[1])
