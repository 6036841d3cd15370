"""Hidden Markov models: states that nobody sees pass from one to the next, and each says a word."""

import math

from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import require, require_float


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
    _require_model(initial, transition, emission)
    _require_observations(observations, emission)
    belief, log_p = initial, 0.0
    for t, word in enumerate(observations.tolist()):
        before = belief if t == 0 else belief @ transition
        alpha = before * emission[:, word]
        p = alpha.sum().item()
        require(p > 0, "the words must be possible in this model", position=t, word=word)
        belief, log_p = alpha / p, log_p + math.log(p)
    return belief, log_p


def next_observation(
    observations: Int[Tensor, "n"],
    initial: Float[Tensor, "states"],
    transition: Float[Tensor, "states states"],
    emission: Float[Tensor, "states vocab"],
) -> Float[Tensor, "vocab"]:
    r"""The probability of each next word: the belief about the state, moved on, then spoken.

    Args:
        observations: The ids of the words so far; there may be none.
        initial: The probability of each state before the first word.
        transition: $A$, from state to state.
        emission: $B$, from state to word.

    Returns:
        One probability for each word; they sum to 1. All words so far matter, not only the last
        few.

    Raises:
        ValueError: As ``forward_algorithm`` does.

    Source: Rabiner 1989, section III; lecture 001, "Evolution: From Statistical to Neural Language
    Models". Chapter: language_models#hidden-states.

    Example:
        >>> import torch
        >>> half, sticky = torch.tensor([0.5, 0.5]), torch.tensor([[0.75, 0.25], [0.25, 0.75]])
        >>> next_observation(torch.tensor([1]), half, sticky, torch.eye(2))
        tensor([0.2500, 0.7500])
    """
    belief, _ = forward_algorithm(observations, initial, transition, emission)
    return (belief if len(observations) == 0 else belief @ transition) @ emission


def _require_model(initial: Tensor, transition: Tensor, emission: Tensor) -> None:
    given = {"initial": initial, "transition": transition, "emission": emission}
    require_float(**given)
    dtypes = {name: tensor.dtype for name, tensor in given.items()}
    require(len(set(dtypes.values())) == 1, "all must have the same dtype", **dtypes)
    n = len(initial) if initial.ndim == 1 else 0
    fits = n > 0 and transition.shape == (n, n) and emission.ndim == 2 and len(emission) == n
    rule = "initial, transition, emission must be (states), (states, states), (states, vocab)"
    require(fits and emission.shape[1] > 0, rule, **given)
    for name, rows in given.items():
        off = (rows.sum(dim=-1) - 1).abs().max().item()
        is_distribution = bool((rows >= 0).all()) and off <= 1e-5  # NaN is neither
        require(is_distribution, f"each row of {name} must sum to 1, none below 0", off_by=off)


def _require_observations(observations: Tensor, emission: Tensor) -> None:
    whole = observations.ndim == 1 and not observations.is_floating_point()
    require(whole, "observations must be one row of ids", observations=observations)
    vocab_size = emission.shape[1]
    wrong = [id_ for id_ in observations.tolist() if not 0 <= id_ < vocab_size]
    require(not wrong, f"ids must be from 0 to {vocab_size - 1}", wrong=wrong[:5])
