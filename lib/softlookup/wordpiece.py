"""WordPiece: sub-words with a mark of continuation, matched longest first."""
