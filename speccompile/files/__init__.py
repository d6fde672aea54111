"""Read and write files, and read git revisions; nothing below this folder uses the disk, except `schema.bundled`.

Imports up to `integrations`.
"""
