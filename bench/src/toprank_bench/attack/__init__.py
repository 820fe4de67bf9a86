"""An attack on files, tables, commands and streams: each trial must end as it should, or in words.

A trial fails where a program crashes, hangs or shows a traceback, where something is lost or is
silently wrong, and where data reach a spreadsheet or a terminal as something to obey.
"""
