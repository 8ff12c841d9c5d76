"""The bot as a GitHub App: webhooks are stored as jobs, sent through a broker and carried out by workers.

    GitHub ──► web ──► store ──► courier ──► broker (Redis) ──► workers ──► analyse, publish
                         ▲                                         │
                         └──────────── what is done ───────────────┘

The store is the only record of the jobs; the broker only transports them. Whatever is killed, the courier sends again
what is not done.
"""
