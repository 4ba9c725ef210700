"""What others published about their systems, as Markdown: copied figures with their caveats, none of them measured here."""

LONGMEMEVAL_RETRIEVAL = """\
Retrieval alone, sessions. Vendors mostly report `recall_any` on all 500 questions; the official program prints `recall_all`
and leaves the 30 questions out that cannot be answered. Session recall is saturated and says little about answers.

| system | recall@1 | recall@5 | recall@10 | caveat |
| --- | --- | --- | --- | --- |
| MemPalace hybrid v4 | | 98.4 | 99.8 | 450 held-out questions; date, quote and name rules tuned on the other 50 |
| MemPalace, MiniLM alone | | 96.6 | 97.6-98 | user turns |
| Cortex 3.15 | | | 98.4 | MRR .912; its own ablation finds no part that matters |
| agentmemory (rohitg00) | | 95.2 | 98.6 | MRR .882; BM25 alone 86.2 / 94.6 |
| Awareness (MiniLM and BM25) | 77.6 | 95.6 | 97.4 | vectors alone 92.6, BM25 alone 91.4 at 5 |
| YAMS | | | 65.3 | all 940 sessions in one pool: the harder test |
| MentisDB | | 65.0 | 72.2 | pooled |
"""

LONGMEMEVAL_ANSWERS = """\
Answers, LongMemEval-S. Readers, judges and tokens differ from row to row, so the rows do not compare with each other, and
nothing here compares with retrieval figures.

| system | overall | tokens; latency | caveat |
| --- | --- | --- | --- |
| full context, GPT-4o | 60.2 | 115k | baseline of the authors |
| Mem0 platform | 94.4 | 6.8k; p50 1.09 s | closed; reader and judge not named |
| Zep 2026 | 90.2 | 4.4k; 104 / 162 ms | reader known second-hand only |
| SmartSearch | 88.4 | 650 ms | deterministic; from its abstract |
| Engram, main run | 84.4 | 7.9k | full context 78.8 in the same harness; extraction after the question is known |
| Hindsight 0.4.19 | 94.6 | 43.6k; 675 ms | a plain hybrid in the same harness: 74.0 at 23k |
| Supermemory | 81.6 - 85.2 | | by reader |
"""

LOCOMO = """\
Dialogue turns, recall@10. The audit of the keys (dial481/locomo-audit) finds 99 of 1,540 answers wrong and 24 that name the
wrong speaker: no system can honestly pass 93.6 % of the original answers. Most vendors leave the adversarial questions out.

| system | recall@10 | caveat |
| --- | --- | --- |
| Cortex | 94.3 | MRR .828; temporal 78.3 |
| MemPalace, bge-large | 92.4 | speaker-swap questions with one document a speaker: 92.8, a hard filter: 34.0 |
| MemPalace hybrid v5 | 88.9 | |
| MemPalace, MiniLM | 60.3 | |
| HippoGraph | 66.8 at 5 | |
"""

PRECISION = """\
From the benchmark's authors, whose own system is the first row. It was built along with the cases, and the aliases in the seed
give much of the answers away. The other systems were asked for 20 results, which holds precision near 0.05 where one is right.

| system | active | passed of 77 | precision | recall | p50 ms | session turns of 12 | drift |
| --- | --- | --- | --- | --- | --- | --- | --- |
| tenure | 43 | 77 | 1.00 | 1.00 | 9.8 | 12 | 0.000 |
| open-knowledge-format | 18 | 36 | 0.47 | 0.91 | 3,535 | 2 | 0.215 |
| supermemory | 4 | 21 | 0.22 | 0.71 | 69 | 1 | 0.749 |
| agentmemory | 0 | 7 | 0.17 | 0.97 | 82 | 0 | 0.809 |
| yourmemory | 0 | 21 | 0.17 | 0.88 | 313 | 1 | 0.737 |
| atomicmemory | 0 | 9 | 0.15 | 0.95 | 71 | 0 | 0.845 |
| gbrain | 5 | 34 | 0.14 | 0.17 | 544 | 1 | 0 (returned nothing) |
| zep | 0 | 9 | 0.09 | 0.95 | 124 | 0 | 0.889 |
| vector (mxbai-embed-large) | 0 | 11 | 0.09 | 1.00 | 72 | 0 | 0.914 |
| hindsight | 0 | 9 | 0.06 | 1.00 | 590 | 0 | 0.929 |
| mem0 | 0 | 9 | 0.06 | 0.99 | 65 | 0 | 0.940 |
| a-mem | 0 | 9 | 0.06 | 0.99 | 14 | 0 | 0.926 |
| cognee | 0 | 11 | 0.05 | 0.92 | 2,891 | 1 | 0.846 |
"""

PUBLISHED = {
    "locomo": LOCOMO,
    "longmemeval": f"{LONGMEMEVAL_RETRIEVAL}\n{LONGMEMEVAL_ANSWERS}",
    "precision": PRECISION,
}
