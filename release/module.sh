#!/bin/sh
# Gives the module another path, in go.mod and in every import. Run it at the root of the
# source, with nothing uncommitted; it changes files and commits nothing.
set -eu
to=$1
case $to in
*[!A-Za-z0-9./_~-]* | /* | */ | "") echo "module: \"$to\" is no path of a module" >&2; exit 2 ;;
esac
from=$(go list -m)
[ -z "$(git status --porcelain)" ] || { echo "module: commit your changes first" >&2; exit 1; }
go mod edit -module "$to"
# In Go files the path stands at the beginning of a string; elsewhere it is named whole.
git grep -lzF "\"$from/" -- '*.go' | xargs -0 -r sed -i "s#\"$from/#\"$to/#g"
for mod in $(git ls-files '*go.mod'); do
  [ "$mod" = go.mod ] && continue
  sed -i -e "s#^module $from/#module $to/#" -e "s#\([ \t]\)$from v0#\1$to v0#" -e "s#^replace $from #replace $to #" "$mod"
done
gofmt -w $(git diff --name-only -- '*.go')
go build ./...
echo "the module is $to now; run make test and commit"
