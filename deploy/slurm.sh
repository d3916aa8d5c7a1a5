#!/bin/bash
# A study in parts, one a task of a Slurm array. A task that is begun again goes on
# where it was; behind the last, merge makes one run of all.
#
#   sbatch --array=1-8 deploy/slurm.sh paper --model openai/gpt-4o
#   spatialstale merge runs/paper runs/paper-shard-*
#
# SPATIALSTALE names the program and RUNS the folder of the runs. Keys come with the
# environment (sbatch --export=ALL), never with the command line.
#SBATCH --job-name=spatialstale
#SBATCH --requeue
#SBATCH --signal=INT@60
#SBATCH --output=spatialstale-%A-%a.log
set -euo pipefail
study=$1
shift
# By srun, so that the program itself hears that the time is over: it stops in an
# orderly way, with exit code 3, and can go on.
exec srun "${SPATIALSTALE:-spatialstale}" run "$study" --shard "auto/$SLURM_ARRAY_TASK_COUNT" \
  --out "${RUNS:-runs}/$(basename "$study" .yaml)-shard-{shard}" --or-resume "$@"
