#!/bin/sh
# daily.sh [DAY]: record what became known, then list the cards to check.
#   inbox/verdicts-*.csv    lists with the column verdict filled in
#   inbox/claims-*.csv      labels by id, with the column reported_at
#   inbox/payments-DAY.csv  the payments of the day
set -eu
umask 077
day=${1:-$(date -d yesterday +%F)}
mkdir -p done lists

for file in inbox/verdicts-*.csv; do
    [ -e "$file" ] || continue
    toprank label payments.toprank "$file" && mv "$file" done/
done
for file in inbox/claims-*.csv; do
    [ -e "$file" ] || continue
    toprank label payments.toprank "$file" --known-at reported_at && mv "$file" done/
done

toprank rank payments.toprank "inbox/payments-$day.csv" --remember -o "lists/alerts-$day.csv"
mv "inbox/payments-$day.csv" done/
