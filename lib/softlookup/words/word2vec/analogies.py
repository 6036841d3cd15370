"""Analogies by arithmetic on word vectors: a is to b as c is to which word?"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import require
from softlookup.words.word2vec.input_checks import require_ids, require_table


def analogy(
    table: Float[Tensor, "vocab d_model"], a: int, b: int, c: int, *, exclude_inputs: bool = True
) -> int:
    r"""The word that is to c as b is to a: nearest by cosine to $b - a + c$.

    All vectors are brought to length 1 first, as in the paper, so that no long vector decides.

    Args:
        table: One vector a word.
        a: The id of a word.
        b: The id of the word that is to be to a as the answer is to c.
        c: The id of a third word.
        exclude_inputs: Never answer with a, b or c. Without it, c or b is often the nearest.

    Returns:
        The id of the answer.

    Raises:
        ValueError: The table is not finite, an id is no word, or all words are excluded.

    Source: Mikolov, Yih and Zweig 2013; lecture 000, "Some Cool properties of W2V".
    Chapter: word2vec#analogies.

    Example:
        >>> table = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 1.0], [9.0, 9.5]])
        >>> analogy(table, 0, 1, 2), analogy(table, 0, 1, 2, exclude_inputs=False)
        (3, 2)
    """
    question = torch.tensor([[a, b, c]])
    return int(_answers(table, question, exclude_inputs))


def analogy_accuracy(
    table: Float[Tensor, "vocab d_model"],
    questions: Int[Tensor, "questions 4"],
    *,
    exclude_inputs: bool = True,
) -> float:
    """The share of the questions (a, b, c, d) for which ``analogy`` of a, b and c answers d.

    Args:
        table: One vector a word.
        questions: One row of ids a question.
        exclude_inputs: Never answer with a, b or c.

    Returns:
        A share between 0 and 1.

    Raises:
        ValueError: The table is not finite, an id is no word, there is no question, or not each
            has four words.

    Source: Mikolov et al. 2013, section 4.1; lecture 000, "Some Cool properties of W2V".
    Chapter: word2vec#analogies.

    Example:
        >>> table = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 1.0], [9.0, 9.5]])
        >>> analogy_accuracy(table, torch.tensor([[0, 1, 2, 3], [0, 1, 2, 4]]))
        0.5
    """
    fits = questions.ndim == 2 and questions.shape[1] == 4 and len(questions) > 0
    require(fits, "questions must be at least one row of four word ids", questions=questions)
    require_ids(len(table), questions=questions)
    answers = _answers(table, questions[:, :3], exclude_inputs)
    return (answers == questions[:, 3]).double().mean().item()


def _answers(table: Tensor, questions: Tensor, exclude_inputs: bool) -> Tensor:
    require_table(table)
    require_ids(len(table), questions=questions)
    length = torch.linalg.vector_norm(table, dim=1, keepdim=True)
    unit = table / length.where(length > 0, 1.0)
    a, b, c = unit[questions].unbind(dim=1)
    scores = (b - a + c) @ unit.mT
    if exclude_inputs:
        n_words = max(len(set(row)) for row in questions.tolist())
        rule = "the vocabulary must hold a word besides the three inputs"
        require(len(table) > n_words, rule, vocab_size=len(table))
        scores = scores.scatter(1, questions, -torch.inf)
    return scores.argmax(dim=1)
