"""Which pages a build writes, and that it says so.

Sphinx writes the pages that changed, and the front page. But a page also speaks of others: it lists
their titles, and links to their figures, tables, sections and equations by number. Where any of
that changed, all pages are written. After a build that did not end well, all are read anew: what
was to be written, or what the warnings were, is not known any more.
"""

import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from screen import Screen


def spoken_of(env: BuildEnvironment) -> dict[str, object]:
    """What pages say of each other: titles, contents, and where each number and label leads."""
    std, maths = env.domaindata["std"], env.domaindata["math"]
    found = {"contents": env.app.config.external_site_map.as_json()}
    found |= {f"title of {page}": title.astext() for page, title in env.titles.items()}
    found |= {f"number of {page}": env.titles[page].get("secnumber") for page in env.titles}
    for page, kinds in env.toc_fignumbers.items():
        for kind, numbers in kinds.items():
            found |= {f"{kind} {page}#{key}": number for key, number in numbers.items()}
    for page, metadata in env.metadata.items():
        slugs = metadata.get("myst_slugs", {})
        found |= {f"section {page}#{slug}": place[1:] for slug, place in slugs.items()}
    for table in (std["labels"], std["anonlabels"], std["terms"], maths["objects"]):
        found |= {f"label {key}": place for key, place in table.items()}
    return json.loads(json.dumps(found, default=str))  # as it will be read back


class Built:
    """Watches one build.

    Args:
        app: The build.
    """

    def __init__(self, app: Sphinx) -> None:
        self.app = app
        self.screen = Screen()
        self.pages: list[str] = []
        self.to_read = 0
        app.connect("env-get-outdated", self.start)
        app.connect("env-before-read-docs", self.count)
        app.connect("source-read", self.reads)
        app.connect("env-get-updated", self.compare, priority=900)  # after the numbers are given
        app.connect("html-page-context", self.writes)
        app.connect("build-finished", self.finish)

    @property
    def record(self) -> Path:
        """What was spoken of when the last build ended well; no file if it did not."""
        return Path(self.app.doctreedir) / f"spoken_of_{self.app.builder.name}.json"

    def start(self, app, env: BuildEnvironment, added, changed, removed) -> set[str]:
        """All pages are outdated after a build that did not end well."""
        return set() if self.record.exists() else set(env.found_docs)

    def count(self, app, env: BuildEnvironment, docnames: list[str]) -> None:
        """The pages to read are known."""
        self.to_read = len(docnames)
        self.read = 0

    def reads(self, app, docname: str, source: list[str]) -> None:
        """A page is read."""
        self.read += 1
        self.screen.draw(f"Reading page {self.read} of {self.to_read}: {docname}")

    def compare(self, app, env: BuildEnvironment) -> set[str]:
        """All pages are written if what they say of each other changed; new names harm none."""
        before = json.loads(self.record.read_text()) if self.record.exists() else {}
        self.record.unlink(missing_ok=True)
        self.now = spoken_of(env)
        same = all(self.now.get(key) == told for key, told in before.items())
        return set() if same else set(env.found_docs)

    def writes(self, app, pagename: str, template, context, doctree: nodes.document | None) -> None:
        """A page is written; the search page and its like have no document."""
        if doctree is not None:
            self.pages.append(pagename)
            self.screen.draw(f"Writing page {len(self.pages)}: {pagename}")

    def finish(self, app, exception: Exception | None) -> None:
        """Say which pages were written, and note whether all is well."""
        self.screen.draw("")
        if exception is None:
            every = len(self.pages) == len(app.env.found_docs)
            which = f"all {len(self.pages)}" if every else ", ".join(sorted(self.pages)) or "none"
            self.screen.say(f"Pages built: {which}.")
            if not app._warncount:
                self.record.write_text(json.dumps(self.now))


def setup(app: Sphinx) -> None:
    """Watch this build."""
    Built(app)
