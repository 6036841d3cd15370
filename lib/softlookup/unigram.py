"""The unigram model: sub-words chosen by their probability."""
