"""Full text in English and Chinese over everything that one may see, with the same results on SQLite and PostgreSQL.

The words are cut here, in Python, for both databases: the tokenisers of both miss 显存 inside a sentence, and PostgreSQL's
breaks ``actor_rollout_ref.rollout.n`` apart. The databases only hold and intersect the tokens.
"""
