"""The book on paper: pages of the built site become stills, and stills one document."""
