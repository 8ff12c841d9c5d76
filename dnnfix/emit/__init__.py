"""Reports as people and other tools read them: text, unified diff, the JSON contract, SARIF, GitHub annotations, a page."""
