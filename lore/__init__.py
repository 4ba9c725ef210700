"""The canon of the persona, as Markdown files."""
