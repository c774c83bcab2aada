"""What people ask for that is not there (yet), and what comes nearest: for errors that help."""

from __future__ import annotations

QUANTILES = "Quantiles are not there yet. HISTOGRAM(column, 0, 10, 20) shows how values are spread."
SPREAD = "Variances are not there yet. AVG(column) and HISTOGRAM(column, 0, 10, 20) are."
EXTREMES = "Minima and maxima are not there: one row decides them. HISTOGRAM(column, 0, 10, 20) is."
JOINS = "Joins are not there yet: ask one table, or join the tables before registering them."
TOP = "The largest groups (top-k) are not there yet: list public keys, WHERE column IN (...)."
NESTED = "Queries inside queries are not there: one SELECT over one table."
BOUNDS = "Clip bounds found from the data are not there yet: the owner declares clip = [low, high]."
DISTINCT = "COUNT(DISTINCT the unit's column) is there; other distinct values are not yet."
HIDING = "Answers are noisy: a filter on them (HAVING) is yours to apply once you have them."
ARITHMETIC = "Arithmetic is not there: aggregate one column as it is, and calculate afterwards."
PATTERNS = "Patterns are not there: list the values, column IN ('a', 'b')."
WINDOWS = "Window functions are not there: COUNT, SUM, AVG and HISTOGRAM per group are."
CHOICE = "CASE is not there: put the condition into WHERE and ask once per case."
SAMPLE = "A sample is asked for at the end: SAMPLE 1 %."

# words at the place of an aggregate
FUNCTIONS = {
    **dict.fromkeys(
        ("MEDIAN", "QUANTILE", "PERCENTILE", "PERCENTILE_CONT", "PERCENTILE_DISC", "QUANTILES",
         "APPROX_QUANTILE", "APPROX_PERCENTILE", "NTILE"),
        QUANTILES,
    ),
    **dict.fromkeys(
        ("VARIANCE", "VAR", "VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "STD",
         "COVAR_POP", "COVAR_SAMP", "CORR", "SKEWNESS", "KURTOSIS"),
        SPREAD,
    ),
    **dict.fromkeys(("MIN", "MAX", "FIRST", "LAST", "ANY_VALUE", "ARG_MIN", "ARG_MAX"), EXTREMES),
    **dict.fromkeys(("MODE", "TOP", "TOPK", "TOP_K", "APPROX_TOP_K", "APPROX_TOP_COUNT"), TOP),
    **dict.fromkeys(
        ("PRIVATE_BOUNDS", "AUTO_BOUNDS", "APPROX_BOUNDS", "BOUNDS", "CLIP", "CLAMP"), BOUNDS
    ),
    **dict.fromkeys(
        ("APPROX_COUNT_DISTINCT", "DISTINCT", "COUNT_DISTINCT", "LIST", "ARRAY_AGG", "STRING_AGG"),
        DISTINCT,
    ),
    **dict.fromkeys(("ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD"), WINDOWS),
    "CASE": CHOICE,
    "COUNTIF": "Put the condition into WHERE and ask COUNT(*).",
    "COUNT_IF": "Put the condition into WHERE and ask COUNT(*).",
}  # fmt: skip

# words anywhere else
WORDS = {
    **dict.fromkeys(
        ("JOIN", "LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS", "NATURAL", "USING", "ON"),
        JOINS,
    ),
    **dict.fromkeys(("ORDER", "LIMIT", "OFFSET", "FETCH", "TOP", "QUALIFY"), TOP),
    **dict.fromkeys(("SELECT", "UNION", "INTERSECT", "EXCEPT", "EXISTS", "WITH", "VALUES"), NESTED),
    **dict.fromkeys(("LIKE", "ILIKE", "SIMILAR", "GLOB", "REGEXP", "RLIKE"), PATTERNS),
    "HAVING": HIDING,
    "OVER": WINDOWS,
    "FILTER": "FILTER is not there: put the condition into WHERE.",
    "CASE": CHOICE,
    "SAMPLE": SAMPLE,
    "TABLESAMPLE": SAMPLE,
    "DISTINCT": DISTINCT,
    "BOUNDS": BOUNDS,
}

SIGNS = {
    **dict.fromkeys(("+", "-", "*", "/", "%", "||", "^", "&", "|", "::"), ARITHMETIC),
    ".": "Names stand alone: one table is asked, so columns need no table before them.",
    ";": "One query at a time.",
    "?": "Parameters are not there: write the value.",
    ":": "Parameters are not there: write the value.",
}

STATEMENTS = frozenset(
    [
        "INSERT",
        "UPDATE",
        "DELETE",
        "DROP",
        "CREATE",
        "ALTER",
        "TRUNCATE",
        "COPY",
        "ATTACH",
        "DETACH",
        "INSTALL",
        "LOAD",
        "PRAGMA",
        "SET",
        "EXPLAIN",
        "DESCRIBE",
        "SHOW",
        "CALL",
        "EXECUTE",
        "GRANT",
        "REVOKE",
        "MERGE",
        "EXPORT",
        "IMPORT",
        "BEGIN",
        "COMMIT",
    ]
)


def hint(word: str, sign: str = "") -> str:
    """What to do instead of an unexpected word or sign; empty where nothing is known of it."""
    if word in STATEMENTS:
        return "Only SELECT is there: nothing can be changed or looked up from here."
    return WORDS.get(word) or FUNCTIONS.get(word) or SIGNS.get(sign, "")
