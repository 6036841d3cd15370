"""What is kept of each page from one build to the next: its entries for the search, its places."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector


class Keeper(EnvironmentCollector):
    """Reads each page, and keeps what it found; a subclass says where and what.

    Attributes:
        attribute: The name under which the environment holds it.
    """

    attribute: str

    def read(self, env: BuildEnvironment, document: nodes.document) -> object | None:
        """What is to be kept of the page that was just read; None for nothing."""
        raise NotImplementedError

    @classmethod
    def kept(cls, env: BuildEnvironment) -> dict:
        """What was found, by page."""
        return env.__dict__.setdefault(cls.attribute, {})

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forget a page."""
        self.kept(env).pop(docname, None)

    def merge_other(self, app, env: BuildEnvironment, docnames: set[str], other) -> None:
        """Take what another process has read."""
        theirs = self.kept(other)
        self.kept(env).update({name: theirs[name] for name in docnames if name in theirs})

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Read a page."""
        found = self.read(app.env, doctree)
        if found is not None:
            self.kept(app.env)[app.env.docname] = found
