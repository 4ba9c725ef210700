"""What each benchmark asks of the memory, in words, for the results page."""

LOCOMO = """\
Each of a conversation's two speakers is a viewer, each session a stream at its date; turns are said four to a batch, pictures
as their captions. A day after the last session an outsider, whom the chat has never seen, asks the bot each question as it
stands, in a stream of its own. Keys are the audit's corrections (`errors.json`). A question about adversarial events gives one
speaker's doings to the other; its evidence is the other speaker's turn.

- *memory*: what the planner routes the question to (mostly the person it names, streams where it asks about an event); gate
  off, no budget, 50 hits a source; sources are merged by their fused scores.
- *memory, both speakers*: the same, the message mentions both speakers.
- *memory, the bot's block*: the block of the configured bot, gate and budget in force.
- *single archive*: all turns as `Name: text` in one collection, both channels; *BM25 alone* and *dense alone*: one of them.
- *full context*: the newest turns that fit, and the whole dialogue.

`recall 1k` is the share of evidence turns among the best items that fit in 1,000 tokens; `answer 4k`: the answer stands there
word for word (dates are rarely written as the key writes them, so this is low by nature). "All" leaves the adversarial
questions out; `trap answer` counts personal lines that give somebody the other's words.
"""

LONGMEMEVAL = """\
The user is a viewer, the assistant another bot in the chat: its lines are in the streams' memory and in no viewer's. Long turns
are cut into chat lines of at most 500 characters. Every session before the question's date is said and consolidated first; then
the user asks, in a new stream.

- *memory*: what the planner routes the user's own question to; gate off, no budget, 50 hits a source.
- *user turns*: the user's memory searched for every question, whatever the planner thinks; *BM25 alone* and *dense alone*: with
  one channel.
- *memory, the bot's block*: the block of the configured bot, gate and budget in force.
- *single archive*: all turns, the assistant's too, in one collection.
- *full history*: the newest lines that fit, and the whole history.

"All" leaves the questions out that cannot be answered. `ndcg` is the standard formula; `official ndcg` is that of the
benchmark's own program, which puts no discount on rank 2. Turns are scored where the file flags them. `answer 9.6k`: the answer
stands word for word among the best items that fit in 9,600 tokens; preferences have no such answer. `audited answer`: the same
with the audit's keys.
"""

PRECISION = """\
Each scope of a user is a viewer who told the bot the beliefs (name, content and reason, without aliases) at their dates; an
outsider asks each query as a question about the viewers of its scopes. Pinned facts, pinned open questions and the persona are
filled from the seed for every system alike, as the benchmark's own harness does; the rest is what the memory shows.

- *memory*: the block of the configured bot, gate and budget in force; *with aliases*: the seed's aliases are told too.
- *gate off, 20 results*: the same search as a list that nothing cuts, as comparison systems are asked; *BM25 alone*, *dense
  alone*: with one channel. *Everything in scope*: no search at all.

An active pass returns just the claimed set; a structural one kept out what had to stay out; an empty one had nothing to return.
"""

ASKED = {"locomo": LOCOMO, "longmemeval": LONGMEMEVAL, "precision": PRECISION}
