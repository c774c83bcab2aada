"""How much text and structure a query may have, so that no text can keep the parser busy."""

LONGEST_TEXT = 100_000  # characters
MOST_TOKENS = 25_000
DEEPEST_BRACKETS = 32
LONGEST_NAME = 200
LONGEST_NUMBER = 40  # digits
