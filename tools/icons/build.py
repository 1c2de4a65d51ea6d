"""Makes static/icons.svg, one symbol for each name in names.txt, from an unpacked npm package `lucide-static`.

$ npm pack lucide-static@1.62.0 && tar xzf lucide-static-1.62.0.tgz
$ python tools/icons/build.py package
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATIC = HERE.parent.parent / "static"
_INNER = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)


def symbol(name: str, svg: str) -> str:
    """Return one icon as a symbol; colours and strokes are left to CSS."""
    found = _INNER.search(svg)
    if found is None:
        raise ValueError(f"{name} is not an SVG picture")
    shapes = "".join(line.strip() for line in found[1].splitlines())
    return f'<symbol id="{name}" viewBox="0 0 24 24">{shapes}</symbol>'


def main(package: Path) -> None:
    """Write the sprite, and the licence of the icons next to it."""
    names = (HERE / "names.txt").read_text().split()
    symbols = [symbol(name, (package / "icons" / f"{name}.svg").read_text()) for name in names]
    sprite = '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"
    (STATIC / "icons.svg").write_text(sprite)
    (STATIC / "icons.LICENSE.txt").write_text((package / "LICENSE").read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
