"""Methods in time: tables of labelled and later rows, tuning by the latest ones, daily lists."""
