"""Files and git revisions read and written; nothing below this folder touches a disk, except `schema.bundled`.

Imports up to `integrations`.
"""
