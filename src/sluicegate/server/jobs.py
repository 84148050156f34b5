"""Work in the background: a bounded queue of jobs, and blocking calls that a job can walk away from."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from sluicegate.core.errors import SluicegateError

T = TypeVar("T")
STOP_SECONDS = 1.0
Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class JobQueueFull(SluicegateError):
    """No further job can wait. `capacity` is the number that do."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        super().__init__(f"Job queue is full ({capacity} jobs are waiting): try again later")


class JobQueueClosed(JobQueueFull):
    """The service is shutting down and starts no more jobs."""

    def __init__(self) -> None:
        SluicegateError.__init__(self, "Job queue is closed: the service is shutting down")
        self.capacity = 0


class Job:
    """A piece of work that waits, runs, or has ended."""

    __slots__ = ("_queue", "state", "task", "work")

    def __init__(self, queue: JobQueue, work: Work) -> None:
        self._queue = queue
        self.work = work
        self.task: asyncio.Task[None] | None = None
        self.state: Literal["pending", "processing", "ended"] = "pending"

    def cancel(self) -> None:
        """End the job now: one that waits never starts, one that runs gets `CancelledError`. May be called twice."""
        self._queue.cancel(self)


class JobQueue:
    """Runs up to `concurrency` jobs at once and keeps up to `capacity` waiting, first come, first served.

    Belongs to one event loop. What a job raises is the job's own business: its work is expected to handle it.
    """

    def __init__(self, capacity: int, concurrency: int) -> None:
        self._capacity = capacity
        self._concurrency = concurrency
        self._waiting: deque[Job] = deque()
        self._running: set[Job] = set()
        self._closed = False

    def submit(self, work: Work) -> Job:
        """Queue `work`; it starts at once if a place is free. Raises `JobQueueFull` when too many jobs wait."""
        if self._closed:
            raise JobQueueClosed
        if len(self._running) >= self._concurrency and len(self._waiting) >= self._capacity:
            raise JobQueueFull(self._capacity)
        job = Job(self, work)
        self._waiting.append(job)
        self._start_next()
        return job

    def cancel(self, job: Job) -> None:
        """See `Job.cancel`."""
        if job.task is not None:
            job.task.cancel()
        elif job.state == "pending":
            self._waiting.remove(job)
            job.state = "ended"

    async def close(self) -> None:
        """Cancel every job, start no more, and wait until the running ones have ended."""
        self._closed = True
        for job in [*self._waiting, *self._running]:
            self.cancel(job)
        await asyncio.gather(*(job.task for job in self._running if job.task), return_exceptions=True)

    def _start_next(self) -> None:
        while self._waiting and len(self._running) < self._concurrency and not self._closed:
            job = self._waiting.popleft()
            self._running.add(job)
            job.state = "processing"
            job.task = asyncio.create_task(job.work())
            job.task.add_done_callback(partial(self._ended, job))

    def _ended(self, job: Job, _task: asyncio.Task[None]) -> None:
        job.state = "ended"
        self._running.discard(job)
        self._start_next()


async def in_thread(call: Callable[[], T], name: str, stop: Callable[[], None] | None = None) -> T:
    """Run a blocking `call` in a thread of its own; cancelling the caller leaves the thread behind.

    `stop` is what makes `call` end early, if anything can: it is called when the caller is cancelled, and the thread
    then gets a moment to end, so that no library is in the middle of something when the process ends.

    The thread is a daemon: a download that hangs keeps neither the caller nor the end of the process waiting, which
    is why the executors of the standard library, which join their threads at exit, do not serve here.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            report = partial(outcome.set_result, call())
        except StopIteration as error:  # a future does not carry it
            report = partial(outcome.set_exception, RuntimeError(repr(error)))
        except BaseException as error:
            report = partial(outcome.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(report)

    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        return await asyncio.shield(outcome)
    except asyncio.CancelledError:
        outcome.add_done_callback(_take_note)  # first: the wait below can be cancelled too
        if stop is not None:
            stop()
            await asyncio.wait([outcome], timeout=STOP_SECONDS)
        raise


def _take_note(outcome: asyncio.Future[Any]) -> None:
    """Look at an outcome that nobody waits for, so that asyncio does not complain about its error."""
    if not outcome.cancelled():
        outcome.exception()
