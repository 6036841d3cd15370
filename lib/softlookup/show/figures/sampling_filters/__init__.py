"""Sampling filters: temperature, top-k, top-p and min-p on the scores of a trained model."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_float, require_int, require_text
from softlookup.show.interactive import Interactive

_MOST_PROMPTS, _MOST_SCORES, _LONGEST = 6, 12_000, 200
_ALT = (
    "Bars for the most probable next tokens of a trained model; sliders for temperature, top-k, "
    "top-p and min-p cut some of them and stretch the others, and a count tells how many are left."
)
_CAPTION = (
    "What is drawn from when a model writes. Outline: the model's own probabilities; bar: what "
    "temperature and filters, in the order of the sliders, make of them."
)


class SamplingFilters(Interactive):
    """Bars for what ``sampling_weights`` makes of a model's scores after a few beginnings.

    Args:
        prompts: 1 to 6 texts that the model has read.
        scores: What it then said: one finite score for each token, one row per text.
        tokens: How each token is shown.
        tails: What stands for each text on its button; by default its last 18 letters.
        seed: Where the chances begin.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many prompts or tokens, a text is blank or too long, a
            score is not finite, or the numbers of rows and columns do not fit; or as
            ``Interactive``.

    Source: Holtzman et al. 2020, section 3; lecture 001, "Language Models".
    Chapter: training#sampling.

    Example:
        >>> import torch
        >>> SamplingFilters(["To be or"], torch.zeros(1, 3), [" not", " be", "."]).name
        'fig-sampling-filters'
    """

    def __init__(
        self,
        prompts: Sequence[str],
        scores: Float[Tensor, "prompts vocab"],
        tokens: Sequence[str],
        *,
        tails: Sequence[str] | None = None,
        seed: int = 1,
        name: str = "fig-sampling-filters",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        tails = [text[-18:] for text in prompts] if tails is None else list(tails)
        _check_texts(prompts, tails, tokens)
        require_float(scores=scores)
        fits = scores.shape == (len(prompts), len(tokens))
        sizes = {"prompts": len(prompts), "tokens": len(tokens)}
        rule = "scores must have a row for each prompt and a column for each token"
        require(fits, rule, scores=scores, **sizes)
        require(bool(scores.isfinite().all()), "scores must be finite")
        require_int(0, seed=seed)
        rows = [[float(f"{score:.6g}") for score in row] for row in scores.detach().tolist()]
        data = {"prompts": list(prompts), "tails": tails, "tokens": list(tokens), "scores": rows}
        super().__init__(
            name=name,
            data={**data, "seed": seed},
            alt=alt,
            caption=caption,
        )


def _check_texts(prompts: Sequence[str], tails: Sequence[str], tokens: Sequence[str]) -> None:
    for name, texts in {"prompts": prompts, "tails": tails, "tokens": tokens}.items():
        require(not isinstance(texts, str), f"{name} must be a list of texts", **{name: texts})
        for i, text in enumerate(texts):
            require_text(**{f"{name}[{i}]": text})
    n_prompts, n_tokens = len(prompts), len(tokens)
    rule = f"prompts must be 1 to {_MOST_PROMPTS}"
    require(1 <= n_prompts <= _MOST_PROMPTS, rule, n_prompts=n_prompts)
    require(n_tokens >= 2, "tokens must be at least 2", n_tokens=n_tokens)
    few = n_prompts * n_tokens <= _MOST_SCORES
    sizes = {"n_prompts": n_prompts, "n_tokens": n_tokens}
    require(few, f"there must be at most {_MOST_SCORES} scores in all", **sizes)
    same = len(tails) == n_prompts
    require(same, "there must be a tail for each prompt", n_tails=len(tails), n_prompts=n_prompts)
    longest = max(map(len, prompts))
    rule = f"a prompt must have 1 to {_LONGEST} letters"
    require(all(map(str.strip, prompts)) and longest <= _LONGEST, rule, longest=longest)
