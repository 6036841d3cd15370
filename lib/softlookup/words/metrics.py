"""How good answers are: confusion matrix, precision, recall, F1, recall@k; whether groups agree."""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from softlookup.checks import Finite, Size, checked, require

Labels = Real[Tensor, "n"] | Bool[Tensor, "n"]
"""The class of each case, a whole number; booleans count as 0 and 1."""


@checked
def confusion_matrix(
    truth: Labels, predicted: Labels, n_classes: Size = 2
) -> Int[Tensor, "{n_classes} {n_classes}"]:
    """Count every pair of true class (row) and predicted class (column).

    Args:
        truth: True classes, whole numbers from 0 to ``n_classes - 1``; booleans count as 0 and 1.
        predicted: Predicted classes, in the same order.
        n_classes: How many classes there are.

    Returns:
        Counts that sum to n; for two classes [[true neg., false pos.], [false neg., true pos.]].

    Raises:
        ValueError: The lengths differ, a label is no class, or ``n_classes`` is below 1.

    Source: lecture 000, "Spam". Chapter: counting_words#precision-and-recall.

    Example:
        >>> truth, predicted = torch.tensor([0, 0, 0, 1, 1]), torch.tensor([0, 0, 1, 1, 0])
        >>> confusion_matrix(truth, predicted)
        tensor([[2, 1],
                [1, 1]])
    """
    _require_labels(n_classes, truth=truth, predicted=predicted)
    pairs = truth.long() * n_classes + predicted.long()
    return torch.bincount(pairs, minlength=n_classes**2).unflatten(0, (n_classes, n_classes))


@checked
def precision(truth: Labels, predicted: Labels) -> float:
    r"""Of all that was called positive, the share that is: $TP / (TP + FP)$.

    Args:
        truth: True classes, 1 (positive) or 0.
        predicted: Predicted classes, 1 or 0.

    Returns:
        A share between 0 and 1; 0.0 by convention where nothing was called positive.

    Raises:
        ValueError: The lengths differ, or a label is not 0 or 1.

    Source: van Rijsbergen 1979, chapter 7. Chapter: counting_words#precision-and-recall.

    Example:
        >>> precision(torch.tensor([1, 0, 1, 1]), torch.tensor([1, 1, 0, 0]))
        0.5
    """
    (_, false_positive), (_, true_positive) = confusion_matrix(truth, predicted).tolist()
    return _ratio(true_positive, true_positive + false_positive)


@checked
def recall(truth: Labels, predicted: Labels) -> float:
    r"""Of all that is positive, the share that was called so: $TP / (TP + FN)$.

    Args:
        truth: True classes, 1 (positive) or 0.
        predicted: Predicted classes, 1 or 0.

    Returns:
        A share between 0 and 1; 0.0 by convention where nothing is positive.

    Raises:
        ValueError: The lengths differ, or a label is not 0 or 1.

    Source: van Rijsbergen 1979, chapter 7. Chapter: counting_words#precision-and-recall.

    Example:
        >>> recall(torch.tensor([1, 0, 1, 1, 1]), torch.tensor([1, 1, 0, 0, 0]))
        0.25
    """
    _, (false_negative, true_positive) = confusion_matrix(truth, predicted).tolist()
    return _ratio(true_positive, true_positive + false_negative)


@checked
def f1_score(truth: Labels, predicted: Labels) -> float:
    r"""The harmonic mean of precision and recall: $2\,TP / (2\,TP + FP + FN)$.

    Args:
        truth: True classes, 1 (positive) or 0.
        predicted: Predicted classes, 1 or 0.

    Returns:
        A number between 0 and 1; 0.0 by convention where nothing is, or was called, positive.

    Raises:
        ValueError: The lengths differ, or a label is not 0 or 1.

    Source: van Rijsbergen 1979, chapter 7. Chapter: counting_words#precision-and-recall.

    Example:
        >>> f1_score(torch.tensor([1, 0, 1, 1]), torch.tensor([1, 1, 0, 0]))
        0.4
    """
    matrix = confusion_matrix(truth, predicted).tolist()
    (_, false_positive), (false_negative, true_positive) = matrix
    return _ratio(2 * true_positive, 2 * true_positive + false_positive + false_negative)


@checked(not_empty="n")
def recall_at_k(scores: Annotated[Float[Tensor, "n m"], Finite], k: Size = 1) -> float:
    """The share of queries whose own document is among the k that score highest.

    Args:
        scores: Row i holds the scores of query i with m documents; its own is document i. Further
            documents, which belong to no query, may stand behind.
        k: How many answers are looked at, at most m.

    Returns:
        A share between 0 and 1. A tie counts against the document: it must be among the first k
        however the tie is broken.

    Raises:
        ValueError: There is no query, fewer documents than queries, a score is not finite, or k is
            below 1 or above m.

    Source: Karpukhin et al. 2020, section 5. Chapter: document_vectors#finding-the-right-message.

    Example:
        >>> scores = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.4, 0.3], [0.1, 0.2, 0.3]])
        >>> recall_at_k(scores, 2)
        1.0
        >>> round(recall_at_k(scores, 1), 4)
        0.6667
    """
    n, m = scores.shape
    require(n <= m, "each query needs a document of its own", queries=n, documents=m)
    require(k <= m, "k must be at most the number of documents", k=k, documents=m)
    own = scores.diagonal()[:, None]
    not_below = (scores >= own).sum(dim=1)  # itself among them
    return (not_below <= k).double().mean().item()


@checked(not_empty="n")
def adjusted_rand_index(truth: Int[Tensor, "n"], predicted: Int[Tensor, "n"]) -> float:
    r"""Whether two ways to group the same points agree: $(R-\mathbb{E}R)/(R_\max-\mathbb{E}R)$.

    $R$ counts the pairs of points that are together in both groupings; $\mathbb{E}R$ is what chance
    gives for groups of these sizes, $R_\max$ the mean of the two numbers of pairs together.

    Args:
        truth: The group of each point; any whole numbers.
        predicted: Another grouping of the same points. What its groups are called does not matter.

    Returns:
        1.0 for the same groups, about 0 for chance, below 0 for worse. Two groupings that leave
        nothing to compare (all together in both, or all apart in both) are the same: 1.0.

    Raises:
        ValueError: The lengths differ, or there is no point.

    Source: Hubert and Arabie 1985. Chapter: vector_search#clusters.

    Example:
        >>> adjusted_rand_index(torch.tensor([0, 0, 1, 1]), torch.tensor([7, 7, 3, 3]))
        1.0
    """
    groupings = torch.stack([truth, predicted], dim=1), truth, predicted
    sizes = [torch.unique(groups, return_counts=True, dim=0)[1] for groups in groupings]
    both, first, second = (int((n * (n - 1)).sum()) // 2 for n in sizes)
    pairs = len(truth) * (len(truth) - 1) // 2
    by_chance = first * second / pairs if pairs else 0.0
    most = (first + second) / 2
    return 1.0 if both == most else (both - by_chance) / (most - by_chance)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _require_labels(n_classes: int, **labels: Tensor) -> None:
    for name, values in labels.items():
        wrong = sorted({value for value in values.tolist() if value not in range(n_classes)})
        rule = f"{name} must hold whole numbers from 0 to {n_classes - 1}"
        require(not wrong, rule, wrong=wrong)
