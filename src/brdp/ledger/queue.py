"""The commit queue: threads of one process share durable commits, and none is answered before its own.

A durable commit waits for the disk. While one is under way the work of other threads gathers; whoever comes
next does all of it in one transaction, each piece under a savepoint of its own, commits once, and only then
lets the others go.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar, final

from brdp.ledger.failures import LedgerUnavailable
from brdp.ledger.store import Store

Result = TypeVar("Result")
MOST_TOGETHER = 256


@final
class _Job(Generic[Result]):
    """A piece of work, and what became of it."""

    def __init__(self, work: Callable[[Store], Result]) -> None:
        self.work = work
        self.done = False
        # set when it is done, or when its thread is to lead
        self.wake = threading.Event()
        self.value: Result | None = None
        self.error: BaseException | None = None

    def result(self) -> Result:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value] # set where there is no error


@final
class CommitQueue:
    """Runs work on a store, in transactions shared between threads.

    One thread leads at a time: it does all the work that waits, commits, wakes whoever that was for, and hands
    over to the first that has come since. Every thread is woken once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._renew()

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._using = threading.Lock()  # the store's one connection
        self._mutex = threading.Lock()  # the two fields below
        self._waiting: deque[_Job[Any]] = deque()
        self._led = False

    def write(self, work: Callable[[Store], Result]) -> Result:
        """Do the work in a transaction; returns once it is durable. An error undoes this work alone."""
        if self._pid != os.getpid():  # a fork copied locks that nobody here will open
            self._renew()
        job = _Job(work)
        with self._mutex:
            self._waiting.append(job)
            leads = not self._led
            self._led = True
        try:
            if not leads:
                job.wake.wait()
            if not job.done:
                self._lead()
        except BaseException:
            # interrupted while waiting: whoever was to lead must not be waited for
            self._step_down(job)
            raise
        return job.result()

    def read(self, work: Callable[[Store], Result]) -> Result:
        """Do work that only reads, in one consistent state."""
        if self._pid != os.getpid():
            self._renew()
        with self._using:
            self._store.memo.clear()
            self._store.begin_reading()
            try:
                return work(self._store)
            finally:
                self._store.rollback()

    def _lead(self) -> None:
        with self._using:
            with self._mutex:
                most = min(len(self._waiting), MOST_TOGETHER)
                jobs = [self._waiting.popleft() for _ in range(most)]
            try:
                self._commit(jobs)
            finally:
                self._hand_over()
                for job in jobs:
                    job.done = True
                    job.wake.set()

    def _hand_over(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting[0].wake.set()
            else:
                self._led = False

    def _step_down(self, job: _Job[Any]) -> None:
        with self._mutex:
            waited = job in self._waiting
            if waited:
                self._waiting.remove(job)
        if waited and job.wake.is_set() and not job.done:
            self._hand_over()

    def _commit(self, jobs: list[_Job[Any]]) -> None:
        self._store.memo.clear()
        try:
            self._store.begin()
            if len(jobs) == 1:
                self._alone(jobs[0])
            else:
                for job in jobs:
                    self._under_savepoint(job)
            if any(job.error is None for job in jobs):
                self._store.commit()
            else:
                self._store.rollback()
        except BaseException as error:
            # nothing of this transaction is durable (or nobody knows): nobody may go on as if it were
            self._store.rollback()
            for job in jobs:
                if job.error is None:
                    job.error = _own_copy(error)
            if not isinstance(error, Exception):
                raise

    def _alone(self, job: _Job[Any]) -> None:
        try:
            job.value = job.work(self._store)
        except Exception as error:
            job.error = error

    def _under_savepoint(self, job: _Job[Any]) -> None:
        self._store.execute("SAVEPOINT job")
        try:
            job.value = job.work(self._store)
        except LedgerUnavailable:
            raise
        except Exception as error:
            job.error = error
            self._store.memo.clear()
            self._store.execute("ROLLBACK TO SAVEPOINT job")
        self._store.execute("RELEASE SAVEPOINT job")


def _own_copy(error: BaseException) -> BaseException:
    """Each thread raises an exception of its own: one shared by several would mix their tracebacks."""
    if isinstance(error, LedgerUnavailable):
        return LedgerUnavailable(str(error))
    return LedgerUnavailable(
        "ledger: expected a durable commit; the thread that made it was interrupted. Nothing was "
        "released; ask again."
    )
