"""The curator: the one way from data to answers.

The order of `ask` is what keeps the promise: plan without data, charge durably, read data, add noise, store
the answer durably, and only then let it leave. Cut anywhere, nothing has left that was not paid for.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, final

from brdp.catalog import Catalog, ColumnUnit, Rule, Table, load_catalog
from brdp.catalog.source import Source
from brdp.curator.answer import answer_from
from brdp.curator.draw import noisy_totals
from brdp.curator.found import describe_selection, pay_again, read_selection
from brdp.curator.prepare import Prepared, prepare, sampler_of
from brdp.curator.pricing import price_of
from brdp.curator.promise import serves
from brdp.curator.release import Release, name_of
from brdp.curator.results import Answer, Price
from brdp.data import open_source, require_declared, require_named_units, require_readable
from brdp.data.bounding import BoundingKey
from brdp.data.compile import compile_query
from brdp.data.engine import Engine
from brdp.data.private_groups import groups_expression
from brdp.data.sampling import Sample
from brdp.errors import BrdpError, InvalidInput
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
        self._key = key
        self._fallback = secrets.token_bytes(32)
        self._opener = opener
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()
        self._closed = False

    # ---- asking ------------------------------------------------------------------------------------------

    def ask(self, asked: str | Query | Builder, *, analyst: str = "analyst") -> Answer:
        """Answer a question, charging it if it was not answered (at least as exactly) before.

        *Guarantee:* everything ever answered from a table is together private as its budget says, however
        the questions were chosen. Nothing leaves before its charge and itself are stored durably.
        """
        query, table, engine = self._resolved(asked)
        # whatever the schema or the engine's language refuses is refused before anything is charged
        budget = self._budget(table)
        key = self._key_for(budget)
        for expression in _expressions(query, table, engine, key):
            engine.sql(expression)
        filter = budget.filter
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
            releases=(
                *describe_selection(prepared.selection),
                *(
                    entry
                    for release in prepared.releases
                    for entry in release.to_dicts(
                        sampler_of(release, filter).total_variation * release.draws,
                        query.sampling_rate,
                    )
                ),
            ),
            promise=prepared.promise,
        )
        granted = self._ledger.ask(request, serves=good)
        if isinstance(granted, Stored):
            return self._built(granted.charge, granted.answer, query, table, replayed=True)
        answer = self._completed(granted, query, table, engine, budget, analyst)
        return self._built(
            granted.charge, answer, query, table, replayed=False, again=not granted.fresh
        )

    def _completed(
        self,
        granted: Granted,
        query: Query,
        table: Table,
        engine: Engine,
        budget: BudgetStatus,
        analyst: str,
    ) -> Mapping[str, Any]:
        try:
            # the noise that was charged, which an interrupted charge may have planned long ago
            _require_same_sample(granted.charge, query)
            selection = read_selection(granted.charge["releases"], query, table)
            releases = _releases(granted.charge, query, table)
            for release in releases.values():
                release.require_paid(sensitivity(release.total, query=query, table=table))
            if selection is not None and not granted.fresh:
                pay_again(selection, ledger=self._ledger, table=table.name, analyst=analyst)
            found = noisy_totals(
                query,
                tuple(releases.values()),
                table=table,
                engine=engine,
                key=self._key_for(budget),
                filter=budget.filter,
                selection=selection,
            )
        except BaseException:
            # the charge stays; asking again completes it (and names groups anew at their price)
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
        again: bool = False,
    ) -> Answer:
        filter = self._budget(table).filter
        selection = read_selection(charge["releases"], query, table)
        price = tuple(int(part, 16) for part in charge["price"].split())
        if again and selection is not None:
            price = filter.price_of_spend(epsilon=selection.epsilon, delta=selection.delta)
        nothing = replayed or (again and selection is None)
        return answer_from(
            answer,
            _releases(charge, query, table),
            query=query,
            table=table,
            selection=selection,
            epsilon=0.0 if nothing else filter.epsilon_of(price),
            delta=0.0 if nothing else filter.delta_of(price),
            replayed=replayed,
        )

    def price(self, asked: str | Query | Builder, *, analyst: str = "analyst") -> Price:
        """What a question would cost. Reads no data, spends nothing."""
        query, table, engine = self._resolved(asked)
        _expressions(query, table, engine, self._key_for(self._budget(table)))
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

    def register(self, table: str) -> BudgetStatus:
        """Check a table against its declarations, and create its budget. For the owner alone.

        Reads the unit's column and, in Parquet files, all text; its refusal says that a row names no unit, or that a
        text is none: something an analyst must not learn. Questions leave rows without a unit out, in silence.
        """
        declared = self._catalog.table(table)
        engine = self._engine(declared)
        require_declared(declared, engine)
        require_readable(declared, engine)
        require_named_units(declared, engine)
        return self._budget(declared)

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
        self._closed = True
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
        engine = self._engine(table)
        return resolve(query, table, engine.schema), table, engine

    def _engine(self, table: Table) -> Engine:
        self._require_open()
        with self._lock:
            engine = self._engines.get(table.name)
            if engine is None:
                engine = self._engines[table.name] = self._opener(table.source)
        return engine

    def _budget(self, table: Table) -> BudgetStatus:
        """The ledger's budget, created from brdp.toml the first time; later the ledger's is what binds."""
        self._require_open()
        found = self._granted(table)
        if found is None and table.budget is None:
            raise InvalidInput(
                f"tables.{table.name}.budget", expected="a budget", got="none", remedy="Add one."
            )
        if found is None:
            try:
                return self._ledger.grant(table.name, filter_for(table), protects=protected(table))
            except InvalidInput:
                found = self._granted(table)
                if found is None:
                    raise
                # another process was quicker
        return _same_people(found, table)

    def _granted(self, table: Table) -> BudgetStatus | None:
        for status in self._ledger.budgets(table.name):
            if status.analyst is None and status.period is None:
                return status
        return None

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidInput(
                "curator",
                expected="one that is open",
                got="one that was closed",
                remedy="Open another.",
            )

    def _key_for(self, budget: BudgetStatus) -> BoundingKey:
        """The key that decides which rows of a unit stay: one for all who share a ledger.

        *Guarantee:* none rests on it: a unit is held to its rows whatever the key, known or not.
        """
        if self._key is not None:
            return self._key
        # an older ledger has none: then every process keeps rows of its own choice
        return BoundingKey(bytes.fromhex(budget.secret) or self._fallback)


def _expressions(query: Query, table: Table, engine: Engine, key: BoundingKey) -> tuple[Any, ...]:
    """What will be asked of the engine, but for the secret coins and the keys of groups that are yet to be found."""
    rate, source = query.sampling_rate, engine.table
    sample = None if rate is None else Sample(rate)
    totals = compile_query(query, table=table, source=source, key=key, sample=sample).expression
    to_find = [group.column for group in query.group_by if group.keys is None]
    if not to_find:
        return (totals,)
    where = query.where
    return (
        groups_expression(to_find, where=where, table=table, source=source, key=key),
        totals,
    )


def _require_same_sample(charge: Mapping[str, Any], query: Query) -> None:
    """Refuse to complete a charge that was made for a sample of another rate."""
    rate = query.sampling_rate
    rates = {entry.get("sampling_rate") for entry in charge["releases"] if "noise" in entry}
    if rates != {None if rate is None else str(rate)}:
        raise BrdpError(
            "expected a charge for a sample of this rate; got one of another version of brdp. It released "
            "nothing: ask at another rate."
        )


def protected(table: Table) -> str:
    """Whom a table's budget is for: the unit, and what neighbours are."""
    unit = table.unit.column if isinstance(table.unit, ColumnUnit) else None
    return json.dumps(["row" if unit is None else "column", unit, table.relation.value])


def _same_people(status: BudgetStatus, table: Table) -> BudgetStatus:
    """What was spent on protecting rows says nothing about users: a budget stays with whom it was for."""
    if status.protects not in ("", protected(table)):
        raise InvalidInput(
            f"tables.{table.name}: unit and relation",
            expected=f"those that its budget was created for, {status.protects}",
            got=protected(table),
            remedy="What has been spent was spent on those. For another unit or relation, name the table "
            "anew; what was answered under the old name is not counted there.",
        )
    return status


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
    entries: dict[str, list[Mapping[str, Any]]] = {}
    for entry in charge["releases"]:
        if "noise" in entry:
            entries.setdefault(entry["total"], []).append(entry)
    return {
        name: Release.read(
            data, by_name[name], sensitivity(by_name[name], query=query, table=table)
        )
        for name, data in entries.items()
    }


def open_curator(config: str | Path = "brdp.toml") -> Curator:
    """Open the tables of a brdp.toml and their ledger."""
    catalog = load_catalog(config)
    return Curator(catalog, open_ledger(catalog.ledger))
