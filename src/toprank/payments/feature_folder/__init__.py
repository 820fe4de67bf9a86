"""Features of payments that do not fit memory: from Parquet files into Parquet files, by day.

    payments/*.parquet                         rows in any order, in any number of files
      1. sorted_days: the rows of each day     FOLDER/work/days/2018-04-01.parquet
      2. part_pasts: features of one part of   FOLDER/work/card-3/2018-04-01.parquet
         the cards, or terminals, day by day
      3. joined_days: rows and features        FOLDER/day=2018-04-01/part-0.parquet

The features of a card depend on its own payments alone. So the cards are split into parts by a
hash of their text, and one `History` at a time goes through the days for each part; likewise the
terminals. Memory is that of one part, which the number of parts bounds, and features are those of
all rows in one table, to the last bit of the float32 that models learn from.
"""

from toprank.payments.feature_folder.feature_folder import FeatureFolder
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.making import make_features

__all__ = ["FeatureFolder", "FolderSettings", "make_features"]
