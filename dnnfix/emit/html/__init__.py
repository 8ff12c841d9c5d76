"""The report as one page: findings with their code, patches, curves and proofs, the network, and what was not checked."""
