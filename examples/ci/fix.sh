#!/bin/sh
# Lets Kerf work on a task in the checked-out repository.
#
#   sh fix.sh 'make the tests pass'
#
# Leaves kerf-out/change.patch (exactly what changed), kerf-out/summary.md and
# kerf-out/events.jsonl. Nothing is committed or pushed. Exit codes: 0 done,
# 1 failed, 2 usage or configuration.
set -eu
task=${1:?usage: fix.sh TASK}
out=${KERF_OUT:-kerf-out}
KERF_HOME=${KERF_HOME:-$(mktemp -d)}
export KERF_HOME
mkdir -p "$out"

code=0
printf '%s' "$task" | kerf exec --json --sandbox workspace-write --ask-for-approval never --max-turns 80 --timeout 30m \
  --output-last-message "$out/summary.md" - >"$out/events.jsonl" || code=$?
kerf diff >"$out/change.patch"
exit "$code"
