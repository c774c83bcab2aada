"""The commit queue: threads of one process share durable commits, and none is answered before its own.

A durable commit waits for the disk. While one is under way the work of other threads gathers; whoever comes
next does all of it in one transaction, on the same books, commits once, and only then lets the others go. Threads
that ask again and again come back a moment after they were let go: the next commit waits for as many as there were,
but no longer than the last one took.

A fork would copy a connection in the middle of its work, and a SQLite connection at any time: the copy believes
that it holds locks which the system gave to the parent alone, and what it writes may be thrown away. So forks
wait for the work under way, and find no SQLite connection open: parent and child each open one of their own.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, final

from brdp.ledger.books import Books
from brdp.ledger.failures import LedgerRefused, LedgerUnavailable
from brdp.ledger.store import Statement, Store

Result = TypeVar("Result")
Reads = Callable[[], Iterable[Statement]]
MOST_TOGETHER = 256
# How long, in seconds, a commit waits at most for threads that were here a moment ago.
LONGEST_PAUSE = 0.01

_queues: weakref.WeakSet[CommitQueue] = weakref.WeakSet()
_forks = threading.RLock()
_held: list[CommitQueue] = []


@final
class _Job(Generic[Result]):
    """A piece of work, and what became of it: nothing, until a commit returned."""

    __slots__ = ("done", "durable", "error", "reads", "thread", "value", "wake", "work")

    def __init__(self, work: Callable[[Books], Result], reads: Reads) -> None:
        self.work = work
        self.reads = reads
        self.thread = threading.get_ident()
        self.done = False
        # let go when it is done, or when its thread is to lead; a plain lock, which costs a tenth of an event
        self.wake = threading.Lock()
        self.wake.acquire()
        self.value: Result | None = None
        self.error: BaseException | None = None
        self.durable = False

    def result(self) -> Result:
        if self.error is not None:
            raise self.error
        if not self.durable:
            raise _interrupted()
        return self.value  # type: ignore[return-value] # set where it is durable


@final
class CommitQueue:
    """Runs work on a store, in transactions shared between threads.

    One thread leads at a time: it does all the work that waits, commits, wakes whoever that was for, and hands
    over to the first that has come since. Every thread is woken once.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._renew()
        _queues.add(self)

    def _renew(self) -> None:
        # the store's one connection; the thread that holds it may be interrupted by a signal, and fork
        self._using, self._at_work = threading.RLock(), False
        self._mutex = threading.Lock()  # the fields below
        self._enough = threading.Condition(self._mutex)
        self._waiting: deque[_Job[Any]] = deque()
        self._leader: _Job[Any] | None = None
        self._expected, self._pause = 1, 0.0

    def write(self, work: Callable[[Books], Result], *, reads: Reads = tuple) -> Result:
        """Do the work in a transaction; returns once it is durable. An error undoes this work alone.

        `reads` tells what the work is known to read: all of a transaction is read together.
        """
        job, leader = _Job(work, reads), self._leader
        if leader is not None and leader.thread == job.thread:
            raise _again()
        try:
            with self._mutex:
                self._waiting.append(job)
                leads = self._leader is None
                if leads:
                    self._leader = job
                elif len(self._waiting) == self._expected:
                    self._enough.notify()
            if not leads:
                job.wake.acquire()
            if not job.done:
                self._lead(job)
        except BaseException:
            # interrupted while waiting: whoever was to lead must not be waited for
            self._step_down(job)
            raise
        return job.result()

    def read(self, work: Callable[[Books], Result]) -> Result:
        """Do work that only reads, in one consistent state."""
        with self._alone():
            self._store.begin_reading()
            try:
                return work(Books(self._store, self._clock))
            finally:
                self._store.rollback()

    def close(self) -> None:
        """Close the store, once nobody is at work on it."""
        with self._alone():
            self._store.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The store for this thread alone, and for this call of it: a signal's handler runs in the middle of another,
        whose transaction it would end.
        """
        with self._using:
            if self._at_work:
                raise _again()
            self._at_work = True
            try:
                yield
            finally:
                self._at_work = False

    def _lead(self, own: _Job[Any]) -> None:
        jobs: list[_Job[Any]] = []
        with self._mutex:
            self._enough.wait_for(lambda: len(self._waiting) >= self._expected, self._pause)
        with self._alone():
            start = time.monotonic()
            try:
                with self._mutex:
                    while self._waiting and len(jobs) < MOST_TOGETHER:
                        jobs.append(self._waiting.popleft())
                self._commit(jobs)
            finally:
                with self._mutex:
                    self._expected = min(len(jobs) + len(self._waiting), MOST_TOGETHER)
                    self._pause = min(time.monotonic() - start, LONGEST_PAUSE)
                self._hand_over()
                for job in jobs:
                    job.done = True
                    if job is not own:
                        job.wake.release()

    def _hand_over(self) -> None:
        with self._mutex:
            self._leader = self._waiting[0] if self._waiting else None
            if self._leader is not None:
                self._leader.wake.release()

    def _step_down(self, job: _Job[Any]) -> None:
        with self._mutex:
            if job not in self._waiting:
                return
            self._waiting.remove(job)
            leads = self._leader is job
        if leads:
            self._hand_over()

    def _commit(self, jobs: list[_Job[Any]]) -> None:
        try:
            self._store.begin()
            books = Books(self._store, self._clock, (read for job in jobs for read in job.reads()))
            for job in jobs:
                try:
                    job.value = books.attempt(job.work)
                except LedgerUnavailable:
                    raise
                except Exception as error:
                    job.error = error
            if all(job.error is not None for job in jobs):
                self._store.rollback()
                return
            books.write_down()
            self._store.commit()
        except BaseException as error:
            # nothing of this transaction is durable (or nobody knows): nobody may go on as if it were
            self._store.rollback()
            for job in jobs:
                if job.error is None:
                    job.error = _own_copy(error)
            if not isinstance(error, Exception):
                raise
        else:
            for job in jobs:
                job.durable = True

    def before_fork(self) -> None:
        """Wait for the work under way and keep others from starting any; let go what must not be copied."""
        self._using.acquire()
        self._store.before_fork()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._using.release()

    def after_fork_in_child(self) -> None:
        """Start anew: the threads that waited are the parent's."""
        self._renew()


def _own_copy(error: BaseException) -> BaseException:
    """Each thread raises an exception of its own: one shared by several would mix their tracebacks."""
    return LedgerUnavailable(str(error)) if isinstance(error, LedgerUnavailable) else _interrupted()


def _again() -> LedgerRefused:
    return LedgerRefused(
        "ledger: expected one call at a time in a thread; got another in the middle of one, from a signal's handler or "
        "from a function that the ledger calls. Nothing was changed. Ask when the first has returned."
    )


def _interrupted() -> LedgerUnavailable:
    return LedgerUnavailable(
        "ledger: expected a durable commit; the thread that made it was interrupted. Nothing was "
        "released; ask again."
    )


def _before_fork() -> None:
    _forks.acquire()
    for queue in list(_queues):
        queue.before_fork()
        _held.append(queue)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().after_fork_in_parent()
    _forks.release()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop().after_fork_in_child()
    _forks.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
