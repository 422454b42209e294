"""Bars as SVG."""
from xml.sax.saxutils import escape

COLOURS = {"Cryolite": "#1f6feb", "onnxruntime": "#c4562a", "OpenVINO": "#7a5bbd", "MNN": "#2b8a6b"}
WIDTH, LEFT, BAR, GAP, TOP = 860, 190, 13, 12, 70  # pixels


def bars(rows, engines, conditions):
    """Speed against onnxruntime (1 = as fast), a group of bars a model and number of threads; longer is faster."""
    speed = lambda row, engine: row["ms"]["onnxruntime"] / row["ms"][engine]
    rows = [row for row in rows if "onnxruntime" in row["ms"]]
    most = max([speed(row, engine) for row in rows for engine in engines if engine in row["ms"]] + [1.0])
    scale = (WIDTH - LEFT - 120) / most
    body, y = [], TOP
    for row in rows:
        present = [engine for engine in engines if engine in row["ms"]]
        middle = y + len(present) * BAR / 2 + 4
        threads = f"{row['threads']} thread{'s' * (row['threads'] > 1)}"
        body.append(f'<text x="{LEFT - 10}" y="{middle:.0f}" text-anchor="end">{escape(row["model"])}, {threads}</text>')
        for engine in present:
            length = speed(row, engine) * scale
            mark = " (wrong)" if engine in row["wrong"] else ""
            body.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{COLOURS[engine]}"/>')
            body.append(f'<text x="{LEFT + length + 5:.1f}" y="{y + BAR - 3}" class="small">'
                        f'{row["ms"][engine]:.2f} ms{mark}</text>')
            y += BAR
        y += GAP
    one = LEFT + scale
    legend, x = [], LEFT
    for engine in engines:
        legend.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{COLOURS[engine]}"/>'
                      f'<text x="{x + 17}" y="48">{engine}</text>')
        x += 40 + 8 * len(engine)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 30}" viewBox="0 0 {WIDTH} {y + 30}">\n'
            "<style>text{font:12px Helvetica,Arial,sans-serif;fill:#24292f}.small{font-size:11px}"
            ".title{font-size:15px;font-weight:bold}</style>\n"
            f'<rect width="{WIDTH}" height="{y + 30}" fill="white"/>\n'
            f'<text x="{LEFT}" y="24" class="title">Speed, onnxruntime = 1 (longer is faster)</text>\n'
            + "\n".join(legend + body)
            + f'\n<line x1="{one:.1f}" y1="{TOP - 6}" x2="{one:.1f}" y2="{y}" stroke="#24292f" stroke-dasharray="3 3"/>\n'
            f'<text x="{LEFT}" y="{y + 16}" class="small">{escape(conditions)}</text>\n</svg>\n')
