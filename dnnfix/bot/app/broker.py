"""The broker between store and workers: Redis, through dramatiq, and the courier that sends it the jobs of the store.

dramatiq rather than arq or taskiq: our work is processes that are waited for, which needs no event loop; and what a
worker that died had taken comes back to the others by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import dramatiq
import structlog
from dramatiq.brokers.redis import RedisBroker
from redis.exceptions import RedisError

from dnnfix.bot.app.store import Store
from dnnfix.errors import EnvironmentProblem, InputError

QUEUE = "visits"

AHEAD = 64
"""Jobs that are with the broker at a time; the others wait in the store."""

RESEND = 10.0
"""Seconds after which a job that no worker has taken is carried again."""

TICK = 1.0
"""Seconds between two rounds of the courier, where nobody rings."""

ANSWER = 2.0
"""Seconds in which Redis has to answer."""

log = structlog.get_logger()


class Broker:
    """What is between the store and the workers, at an address such as `redis://localhost:6379/0`."""

    def __init__(self, address: str) -> None:
        """Raises `InputError` for no such address; whether somebody answers there is not asked."""
        try:
            self._redis: Any = RedisBroker(  # type: ignore[no-untyped-call]
                url=f"{address}{'&' if '?' in address else '?'}socket_connect_timeout={ANSWER:g}&socket_timeout={ANSWER * 5:g}",
                middleware=[],
                namespace="dnnfix",
            )
        except ValueError as error:
            raise InputError(f"--broker: is no address of a Redis ({error}).") from None

    def answers(self) -> bool:
        """Whether Redis can be asked now."""
        try:
            return bool(self._redis.client.ping())
        except RedisError:
            return False

    def size(self) -> int:
        """Jobs that wait there or are being done."""
        return int(self._redis.do_qsize(QUEUE))

    def send(self, name: str) -> None:
        """Ask for a job to be done."""
        self._redis.enqueue(dramatiq.Message(queue_name=QUEUE, actor_name=QUEUE, args=(name,), kwargs={}, options={}))

    def workers(self, work: Callable[[str], None], number: int) -> dramatiq.Worker:
        """So many threads that do `work` for every job, by its name; started."""
        dramatiq.actor(actor_name=QUEUE, queue_name=QUEUE, broker=self._redis)(work)
        made = dramatiq.Worker(self._redis, worker_threads=number, worker_timeout=200)
        made.start()
        return made

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()


class Courier(Thread):
    """Sends the jobs of the store to the broker, and again those that got lost there, until it is stopped."""

    def __init__(self, store: Store, broker: Broker) -> None:
        super().__init__(name="courier", daemon=True)
        self._store, self._broker = store, broker
        self._bell, self._stopped = Event(), False

    def ring(self) -> None:
        """Wake the courier: there is a new job."""
        self._bell.set()

    def stop(self) -> None:
        """End after this round."""
        self._stopped = True
        self.ring()
        self.join()

    def run(self) -> None:
        """Round after round; what fails is tried again in the next one."""
        was_well = True
        while not self._stopped:
            self._bell.wait(TICK)
            self._bell.clear()
            try:
                self.carry()
            except (RedisError, dramatiq.errors.BrokerError, EnvironmentProblem) as error:
                if was_well:
                    log.error("nothing can be carried", why=str(error))
                was_well = False
            else:
                if not was_well:
                    log.info("carrying again")
                was_well = True

    def carry(self) -> None:
        """One round: as much as the broker may have."""
        room = AHEAD - self._broker.size()
        for name in self._store.waiting(room, RESEND) if room > 0 else ():
            self._broker.send(name)
