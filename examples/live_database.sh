#!/bin/sh
# From one live PostgreSQL into another, by the command line.
#
#     export PGPASSWORD=…
#     python examples/oncology.py postgresql://me@db/hospital 500      # something to try it on
#     examples/live_database.sh postgresql://me@db/hospital postgresql://me@db/synthetic
#
# What it shows: no password on a command line; a draft from the catalogue alone; one cap for all releases of the same data,
# from which this one is paid before the first row is read; and a target with the source's own types, keys and checks,
# filled in one transaction, or not at all.
set -eu
source=$1
target=$2
schema=$(dirname "$0")/oncology.yaml

mare init "$source" -o draft.yaml --force          # names, types, keys; a person reviews it …
mare check "$schema" --from "$source"              # … and this is what came of it: does it still fit the database?

test -e hospital.budget || mare budget create hospital.budget --epsilon 4 --delta 1e-8
mare synth "$schema" --from "$source" --to "$target" --epsilon 2 --budget-file hospital.budget -o oncology.mare

mare budget show hospital.budget                   # what is left for the releases that will follow
