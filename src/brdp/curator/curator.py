"""The curator: the one way from data to answers.

The order of `ask` is what keeps the promise: plan without data, charge durably, read data, add noise, store
the answer durably, and only then let it leave. Cut anywhere, nothing has left that was not paid for.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, final

from brdp.catalog import Catalog, Rule, Table, load_catalog
from brdp.catalog.source import Source
from brdp.curator.answer import answer_from
from brdp.curator.draw import noisy_totals
from brdp.curator.prepare import Prepared, prepare, promise_of, sampler_of, serves
from brdp.curator.pricing import price_of
from brdp.curator.release import Release, name_of
from brdp.curator.results import Answer, Price
from brdp.data import open_source
from brdp.data.bounding import BoundingKey
from brdp.data.compile import compile_query
from brdp.data.engine import Engine
from brdp.errors import InvalidInput
from brdp.ledger import BudgetStatus, Granted, Ledger, Request, Stored, open_ledger
from brdp.privacy.filters import Filter, PureFilter, RenyiFilter, SumFilter
from brdp.query import Builder, Query, as_query, question, resolve, sensitivity, totals_of_query


@final
class Curator:
    """Tables, their ledger and their engines. Threads and processes may share one ledger."""

    def __init__(
        self,
        catalog: Catalog,
        ledger: Ledger,
        *,
        key: BoundingKey | None = None,
        opener: Callable[[Source], Engine] = open_source,
    ) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._key = key or BoundingKey(secrets.token_bytes(32))
        self._opener = opener
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()

    # ---- asking ------------------------------------------------------------------------------------------

    def ask(self, asked: str | Query | Builder, *, analyst: str = "analyst") -> Answer:
        """Answer a question, charging it if it was not answered (at least as exactly) before.

        *Guarantee:* everything ever answered from a table is together private as its budget says, however
        the questions were chosen. Nothing leaves before its charge and itself are stored durably.
        """
        query, table, engine = self._resolved(asked)
        # whatever the schema refuses is refused before anything is charged
        compile_query(query, table=table, source=engine.table, key=self._key)
        filter = self._budget(table).filter
        normal = question(query, table)

        def good(promise: Mapping[str, Any]) -> bool:
            return serves(promise, query, table)

        earlier = self._ledger.stored(table.name, normal.digest, serves=good)
        if earlier is not None:
            return self._built(earlier.charge, earlier.answer, query, table, replayed=True)
        prepared = prepare(query, table, filter)
        request = Request(
            table=table.name,
            analyst=analyst,
            question=normal.text,
            digest=normal.digest,
            version=table.version,
            price=prepared.price(filter),
            tau=prepared.tau(filter),
            releases=tuple(
                release.to_dict(sampler_of(release, filter).total_variation * release.cells)
                for release in prepared.releases
            ),
            promise=promise_of(prepared),
        )
        granted = self._ledger.ask(request, serves=good)
        if isinstance(granted, Stored):
            return self._built(granted.charge, granted.answer, query, table, replayed=True)
        answer = self._completed(granted, query, table, engine, filter)
        return self._built(
            granted.charge, answer, query, table, replayed=False, free=not granted.fresh
        )

    def _completed(
        self, granted: Granted, query: Query, table: Table, engine: Engine, filter: Filter
    ) -> Mapping[str, Any]:
        try:
            # the noise that was charged, which an interrupted charge may have planned long ago
            releases = _releases(granted.charge, query, table)
            found = noisy_totals(
                query,
                tuple(releases.values()),
                table=table,
                engine=engine,
                key=self._key,
                filter=filter,
            )
        except BaseException:
            # the charge stays; asking again completes it
            self._ledger.give_up(granted)
            raise
        return self._ledger.answer(granted, found)

    def _built(
        self,
        charge: Mapping[str, Any],
        answer: Mapping[str, Any],
        query: Query,
        table: Table,
        *,
        replayed: bool,
        free: bool = False,
    ) -> Answer:
        filter = self._budget(table).filter
        price = tuple(int(part, 16) for part in charge["price"].split())
        nothing = replayed or free
        return answer_from(
            answer,
            _releases(charge, query, table),
            query=query,
            table=table,
            epsilon=0.0 if nothing else filter.epsilon_of(price),
            delta=0.0 if nothing else filter.delta_of(price),
            replayed=replayed,
        )

    def price(self, asked: str | Query | Builder, *, analyst: str = "analyst") -> Price:
        """What a question would cost. Reads no data, spends nothing."""
        query, table, engine = self._resolved(asked)
        compile_query(query, table=table, source=engine.table, key=self._key)
        self._budget(table)
        budgets = self._ledger.budgets(table.name)
        stored = self._ledger.stored(
            table.name,
            question(query, table).digest,
            serves=lambda promise: serves(promise, query, table),
        )
        return price_of(
            query,
            table,
            budgets=self._ledger.covering(budgets, analyst=analyst),
            free=stored is not None,
        )

    # ---- the owner's side --------------------------------------------------------------------------------

    def budget(self, table: str) -> BudgetStatus:
        """What may be spent on a table and what has been."""
        return self._budget(self._catalog.table(table))

    def history(
        self, table: str | None = None, *, analyst: str | None = None
    ) -> list[dict[str, Any]]:
        """The charges so far, oldest first."""
        return self._ledger.history(table=table, analyst=analyst)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that may be asked about."""
        return self._catalog.tables

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self._ledger

    def prepare(self, asked: str | Query | Builder) -> Prepared:
        """Everything about a question that is fixed before data are read."""
        query, table, _ = self._resolved(asked)
        return prepare(query, table, self._budget(table).filter)

    def close(self) -> None:
        """Let engines and ledger go."""
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines.clear()
        self._ledger.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inner -------------------------------------------------------------------------------------------

    def _resolved(self, asked: str | Query | Builder) -> tuple[Query, Table, Engine]:
        query = as_query(asked)
        table = self._catalog.table(query.table)
        with self._lock:
            engine = self._engines.get(table.name)
            if engine is None:
                engine = self._engines[table.name] = self._opener(table.source)
        return resolve(query, table, engine.schema), table, engine

    def _budget(self, table: Table) -> BudgetStatus:
        """The ledger's budget, created from brdp.toml the first time; later the ledger's is what binds."""
        for status in self._ledger.budgets(table.name):
            if status.analyst is None and status.period is None:
                return status
        if table.budget is None:
            raise InvalidInput(
                f"tables.{table.name}.budget", expected="a budget", got="none", remedy="Add one."
            )
        try:
            return self._ledger.grant(table.name, filter_for(table))
        except InvalidInput:  # another process was quicker
            return self._ledger.budget(table.name)


def filter_for(table: Table) -> Filter:
    """The filter of a table's budget, as brdp.toml states it."""
    budget = table.budget
    if budget is None:
        raise InvalidInput("budget", expected="a budget", got="none")
    if budget.delta == 0:
        return PureFilter(budget.epsilon)
    if budget.rule is Rule.RENYI:
        return RenyiFilter.for_budget(epsilon=budget.epsilon, delta=budget.delta)
    return SumFilter.for_queries(epsilon=budget.epsilon, delta=budget.delta, queries=budget.queries)


def _releases(charge: Mapping[str, Any], query: Query, table: Table) -> dict[str, Release]:
    """The releases of a charge, for the totals of the same question."""
    by_name = {name_of(total): total for total in totals_of_query(query, table)}
    found = {}
    for data in charge["releases"]:
        total = by_name[data["total"]]
        moved = sensitivity(total, query=query, table=table)
        found[data["total"]] = Release.read(data, total, moved)
    return found


def open_curator(config: str | Path = "brdp.toml") -> Curator:
    """Open the tables of a brdp.toml and their ledger."""
    catalog = load_catalog(config)
    return Curator(catalog, open_ledger(catalog.ledger))
