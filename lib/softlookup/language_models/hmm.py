"""Hidden Markov models: states that nobody sees pass from one to the next, and each says a word."""

import math

from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import checked, require, require_ids


@checked(not_empty="states vocab")
def forward_algorithm(
    observations: Int[Tensor, "n"],
    initial: Float[Tensor, "states"],
    transition: Float[Tensor, "states states"],
    emission: Float[Tensor, "states vocab"],
) -> tuple[Float[Tensor, "states"], float]:
    r"""What the words so far say about the state, and how probable they are.

    $\alpha_t(s) = B_{s,x_t} \sum_r \alpha_{t-1}(r) A_{rs}$ is the probability of the words
    $x_1 \dots x_t$ together with state $s$ at the end. Its sum over $s$ is the probability of the
    words: it takes $n S^2$ products, although $S^n$ ways through the states are summed. At every
    step $\alpha$ is divided by its sum, and the logarithms of the sums are kept: so no product
    gets too small for a float.

    Args:
        observations: The ids of the words, $x_1 \dots x_n$; there may be none.
        initial: The probability of each state before the first word.
        transition: $A$; row $r$ holds the probabilities of the state after $r$.
        emission: $B$; row $s$ holds the probabilities of the word that state $s$ says.

    Returns:
        The probability of each state at the last word, given all words; and the logarithm of the
        probability of the words. Without a word: ``initial`` and 0.

    Raises:
        ValueError: A row is no distribution, a shape, a dtype or an id does not fit, or the words
            are impossible.

    Source: Baum and Petrie 1966; Rabiner 1989, section III; lecture 001, "Evolution: From
    Statistical to Neural Language Models". Chapter: language_models#hidden-states.

    Example:
        >>> import torch
        >>> half, sticky = torch.tensor([0.5, 0.5]), torch.tensor([[0.75, 0.25], [0.25, 0.75]])
        >>> state, log_p = forward_algorithm(torch.tensor([1, 1]), half, sticky, torch.eye(2))
        >>> state.tolist(), round(math.exp(log_p), 6)  # it is in state 1 and stays: 0.5 · 0.75
        ([0.0, 1.0], 0.375)
    """
    _require_distributions(initial=initial, transition=transition, emission=emission)
    require_ids(emission.shape[1], observations=observations)
    belief, log_p = initial, 0.0
    for t, word in enumerate(observations.tolist()):
        before = belief if t == 0 else belief @ transition
        alpha = before * emission[:, word]
        p = alpha.sum().item()
        require(p > 0, "the words must be possible in this model", position=t, word=word)
        belief, log_p = alpha / p, log_p + math.log(p)
    return belief, log_p


def _require_distributions(**tables: Tensor) -> None:
    for name, rows in tables.items():
        off = (rows.sum(dim=-1) - 1).abs().max().item()
        is_distribution = bool((rows >= 0).all()) and off <= 1e-5  # NaN is neither
        require(is_distribution, f"each row of {name} must sum to 1, none below 0", off_by=off)
