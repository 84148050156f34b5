"""The job queue, and threads that can be left behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.server.identifiers import new_identifier, uuid7
from sluicegate.server.jobs import Job, JobQueue, JobQueueClosed, JobQueueFull, in_thread

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Work:
    """Jobs that run until the test lets them end; records who started and who was cancelled."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.cancelled: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}

    def submit(self, queue: JobQueue, number: int) -> Job:
        gate = self.gates[number] = asyncio.Event()

        async def run() -> None:
            self.started.append(number)
            try:
                await gate.wait()
            except asyncio.CancelledError:
                self.cancelled.append(number)
                raise

        return queue.submit(run)


async def test_jobs_start_in_order_and_never_too_many_at_once() -> None:
    queue, work = JobQueue(capacity=10, concurrency=2), Work()
    jobs = [work.submit(queue, number) for number in range(5)]
    await settle()
    assert (work.started, [job.state for job in jobs]) == ([0, 1], ["processing"] * 2 + ["pending"] * 3)
    work.gates[1].set()
    await settle()
    assert (work.started, jobs[1].state) == ([0, 1, 2], "ended")
    await queue.close()
    assert all(job.state == "ended" for job in jobs)


async def test_a_full_queue_refuses_and_takes_jobs_again_later() -> None:
    queue, work = JobQueue(capacity=1, concurrency=1), Work()
    work.submit(queue, 0)
    waiting = work.submit(queue, 1)
    with pytest.raises(JobQueueFull, match="1 jobs are waiting"):
        work.submit(queue, 2)
    waiting.cancel()
    work.submit(queue, 3)
    await queue.close()
    assert work.started in ([], [0])


async def test_cancelling_frees_the_place_whether_the_job_waits_runs_or_is_about_to_run() -> None:
    queue, work = JobQueue(capacity=10, concurrency=1), Work()
    about_to_run = work.submit(queue, 0)
    about_to_run.cancel()
    await settle()
    running = work.submit(queue, 1)
    waiting = work.submit(queue, 2)
    last = work.submit(queue, 3)
    await settle()
    waiting.cancel()
    running.cancel()
    running.cancel()
    await settle()
    assert (work.started, work.cancelled, last.state) == ([1, 3], [1], "processing")
    await queue.close()


async def test_a_job_that_raises_frees_its_place() -> None:
    async def failing() -> None:
        raise ValueError

    queue, work = JobQueue(capacity=10, concurrency=1), Work()
    failed = queue.submit(failing)
    work.submit(queue, 0)
    await settle()
    assert work.started == [0]
    assert failed.task is not None
    assert isinstance(failed.task.exception(), ValueError)
    await queue.close()


async def test_closing_ends_everything_and_starts_nothing() -> None:
    queue, work = JobQueue(capacity=10, concurrency=1), Work()
    work.submit(queue, 0)
    work.submit(queue, 1)
    await settle()
    await queue.close()
    assert (work.started, work.cancelled) == ([0], [0])
    with pytest.raises(JobQueueClosed):
        work.submit(queue, 2)


@given(
    st.integers(1, 3), st.integers(1, 4), st.lists(st.tuples(st.sampled_from("sce"), st.integers(0, 9)), max_size=25)
)
def test_the_bounds_hold_whatever_happens(capacity: int, concurrency: int, steps: list[tuple[str, int]]) -> None:
    async def run() -> None:
        queue, work = JobQueue(capacity, concurrency), Work()
        jobs: list[Job] = []
        for step, number in steps:
            if step == "s":
                waiting = sum(job.state == "pending" for job in jobs)
                running = sum(job.state == "processing" for job in jobs)
                try:
                    jobs.append(work.submit(queue, len(jobs)))
                except JobQueueFull:
                    assert (running, waiting) == (concurrency, capacity)
            elif number < len(jobs):
                if step == "c":
                    jobs[number].cancel()
                else:
                    work.gates[number].set()
            await settle()
            running = sum(job.state == "processing" for job in jobs)
            waiting = sum(job.state == "pending" for job in jobs)
            assert running <= concurrency
            assert waiting <= capacity
            assert running == concurrency or waiting == 0
        assert work.started == sorted(work.started)
        await queue.close()

    asyncio.run(run())


async def test_a_thread_gives_its_result_or_its_error() -> None:
    def stop() -> None:
        raise StopIteration

    assert await in_thread(lambda: 7, "test") == 7
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 / 0, "test")
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(stop, "test")


async def test_a_thread_that_hangs_is_left_behind() -> None:
    release, ended = threading.Event(), threading.Event()

    def hang() -> None:
        release.wait(30)
        ended.set()

    task = asyncio.create_task(in_thread(hang, "test"))
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert next(thread for thread in threading.enumerate() if thread.name == "test").daemon
    release.set()
    assert ended.wait(10)
    await settle()


async def test_a_thread_that_can_be_stopped_is_waited_for() -> None:
    started, stop, ended = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        started.set()
        stop.wait(30)
        ended.set()
        raise ValueError

    task = asyncio.create_task(in_thread(run, "test", stop.set))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_an_error_after_two_cancellations_is_no_complaint() -> None:
    """The second one comes while the thread still gets its moment to end."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    started, release = threading.Event(), threading.Event()

    def run() -> None:
        started.set()
        release.wait(30)
        raise ValueError

    task = asyncio.create_task(in_thread(run, "twice", lambda: None))
    await asyncio.to_thread(started.wait, 10)
    for _ in range(2):
        task.cancel()
        await settle()
    with pytest.raises(asyncio.CancelledError):
        await task
    thread = next(thread for thread in threading.enumerate() if thread.name == "twice")
    release.set()
    await asyncio.to_thread(thread.join, 10)
    await settle()
    del task
    gc.collect()
    assert not complaints


def test_identifiers_are_uuids_of_version_7_in_order_of_time() -> None:
    known = uuid7(0x017F22E279B0, (0xCC3 << 62) | 0x18C4DC0C0C07398F)  # the example of RFC 9562
    assert known == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
    parsed = uuid.UUID(new_identifier())
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert uuid7(1, (1 << 74) - 1) < uuid7(2, 0)
