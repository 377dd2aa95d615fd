"""The Merkle tree over the audit log: who adds entries to it, who signs it, and who checks it.

The leaves are the entries in the order in which they became visible. `sealer` adds them, seconds
after they were written, and signs a checkpoint, which has their number and their root. `witnesses`
keep checkpoints outside of the database, and `verify` compares everything with them.
"""
