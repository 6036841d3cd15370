"""Analogies by arithmetic on word vectors: a is to b as c is to which word?"""

from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor

from softlookup.checks import Ids, checked, require
from softlookup.words.word2vec.two_tables import Vectors

WordId = Annotated[int, Ids("vocab")]


@checked(not_empty="vocab d_model")
def analogy(table: Vectors, a: WordId, b: WordId, c: WordId, *, exclude_inputs: bool = True) -> int:
    r"""The word that is to c as b is to a: nearest by cosine to $b - a + c$.

    All vectors are brought to length 1 first, as in the paper, so that no long vector decides.

    Args:
        table: One vector for each word.
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


@checked(not_empty="vocab d_model questions")
def analogy_accuracy(
    table: Vectors,
    questions: Annotated[Int[Tensor, "questions 4"], Ids("vocab")],
    *,
    exclude_inputs: bool = True,
) -> float:
    """The share of the questions (a, b, c, d) for which ``analogy`` of a, b and c answers d.

    Args:
        table: One vector for each word.
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
    answers = _answers(table, questions[:, :3], exclude_inputs)
    return (answers == questions[:, 3]).double().mean().item()


def _answers(table: Tensor, questions: Tensor, exclude_inputs: bool) -> Tensor:
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
