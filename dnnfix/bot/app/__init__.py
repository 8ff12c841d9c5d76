"""The bot as a GitHub App: webhooks are taken in, kept in a store, carried by a broker and done by workers.

    GitHub ──► web ──► store ──► courier ──► broker (Redis) ──► workers ──► analyse, publish
                         ▲                                         │
                         └──────────── what is done ───────────────┘

The store knows what is to be done; the broker only carries it. Whatever is killed, the courier carries again what is not done.
"""
