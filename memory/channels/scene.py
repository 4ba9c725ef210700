"""The scene channel: what happens in a stream is told by its hosts and taken up by the chat. A prior: it finds nothing."""

from collections.abc import Collection, Iterable

from memory.caches import Hits
from memory.model import Document
from memory.ports import MemoryReader
from memory.scene import AFTER, weight

NAME = "scene"


class Scene:
    """Weighs the lines of a stream by the chat around them. What it reads there is never shown."""

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader

    async def weigh(self, documents: Iterable[Document], people: Collection[str] = ()) -> Hits:
        """Return the lines with their weight, best first; those without any, and older documents of many lines, are missing.

        `people` are the viewers who are asked about.

        Raises:
            StoreUnavailable: the lines around cannot be read.
        """
        single = {one.provenance[0]: one.id for one in documents if len(one.provenance) == 1}
        if not single:
            return []
        scenes = await self._reader.scenes(list(single), AFTER)
        weighed = [(single[line_id], weight(scene, people)) for line_id, scene in scenes.items()]
        return sorted((hit for hit in weighed if hit[1] > 0), key=lambda hit: (-hit[1], hit[0]))
