"""Which edition of the book it is: title, version and licence, from the files that hold them."""

import yaml

import registry

WHOLE = "soft-lookup"
"""The name of the files that hold the whole book."""
LICENCE = "Text and figures: CC BY 4.0"


def config() -> dict:
    """What `_config.yml` says."""
    return yaml.safe_load((registry.ROOT / "_config.yml").read_text(encoding="utf-8"))


def cited() -> dict:
    """What `CITATION.cff` says."""
    return yaml.safe_load((registry.ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def edition() -> str:
    """Whose book it is, which version, and what one may do with it."""
    year = config()["copyright"]
    return f"{config()['author']}. Version {cited()['version']}, {year}. {LICENCE}."


def front(form: str) -> str:
    """The title page.

    Args:
        form: What was made of the site.
    """
    made = (
        f"This is the site of the book, {form}: figures that move there stand still here, covers "
        "are lifted, code that only draws is left out, and the solutions stand behind the text."
    )
    title, _, rest = cited()["title"].partition(": ")
    picture = (registry.ROOT / "_static" / "soft-lookup.svg").as_uri()
    return (
        f'<section class="pp-title-page"><p class="pp-title">{title}</p>'
        f'<p class="pp-subtitle">{rest[0].upper()}{rest[1:]}</p><img src="{picture}" alt="">'
        f'<p class="pp-small">{edition()}<br>{made}</p></section>'
    )


def about() -> str:
    """What stands under the title of a chapter that stands alone."""
    return f"From <em>{config()['title']}</em>. {edition()}"
