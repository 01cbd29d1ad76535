"""docs/results.md from the tables that `calque reproduce` wrote, with the page of remarks before them.

    python tools/make_results.py TABLES docs/results.md

TABLES is the folder that was given to `calque reproduce -o`. Headings move one level down, and folders of the machine
that made the tables become DATA and TABLES.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REMARKS = Path(__file__).with_name("results_remarks.md")
ORDER = ("lex-z-muse", "lex-z-omw", "lex-c", "similarity", "ablation-muse")


def main(tables: Path, page: Path) -> None:
    """Write the page."""
    files = [tables / f"{name}.md" for name in ORDER if (tables / f"{name}.md").is_file()]
    if not files:
        sys.exit(f"{tables}: holds no table; make one with 'calque reproduce TABLE --data DIR -o {tables}'")
    parts = [REMARKS.read_text(encoding="utf-8").rstrip(), *(_section(path) for path in files)]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _section(path: Path) -> str:
    text = re.sub(r"^#", "##", path.read_text(encoding="utf-8").rstrip(), flags=re.MULTILINE)
    text = re.sub(r"--data \S+", "--data DATA", text)
    return re.sub(r"(-o|--output) \S+?(?=[` ])", "-o TABLES", text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
