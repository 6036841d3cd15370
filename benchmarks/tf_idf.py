"""TF-IDF of the bundled messages: the library against scikit-learn, from text to matrix."""

import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from timing import seconds
from torch import Tensor

from softlookup.data import messages
from softlookup.words import count_matrix, tf_idf, word_tokens

TF_IDF_HEADS = ["text", "time, to scikit-learn"]


def tf_idf_rows() -> list[list[str]]:
    """One row: the messages of the book."""
    texts = [message.text for message in messages()]

    def ours() -> Tensor:
        documents = [word_tokens(text) for text in texts]
        vocabulary = sorted(set().union(*documents))
        return tf_idf(count_matrix(documents, vocabulary), idf="smooth")

    def theirs():
        vectorizer = TfidfVectorizer(tokenizer=word_tokens, token_pattern=None, norm=None)
        return vectorizer.fit_transform(texts)

    torch.testing.assert_close(ours(), torch.as_tensor(theirs().toarray()))
    first, second = seconds([ours, theirs])
    print(f"tf-idf of {len(texts)} messages: {first / second:.2g} of scikit-learn's time")
    return [[f"{len(texts)} messages", f"{first / second:.2g}"]]


if __name__ == "__main__":
    torch.set_num_threads(1)
    tf_idf_rows()
