"""Print constraints for pip: of each package that the project needs, the lowest release series that it declares.

``numpy>=2.1`` becomes ``numpy==2.1.*``: the fixes of a series are wanted; its first release may be withdrawn.
"""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
for entry in (*project["dependencies"], *project["optional-dependencies"]["test"]):
    found = re.match(r"([\w-]+)>=([\d.]+)", entry)
    if found:
        name, version = found.groups()
        print(f"{name}=={version}" if version.count(".") > 1 else f"{name}=={version}.*")
