package enter

import (
	"kerf/internal/work/ledger"
	"kerf/internal/work/repo"
)

// Head is where HEAD of the git repository that holds dir is now; nil where there is none.
func Head(dir string) *ledger.Head {
	branch, commit, _, ok := repo.At(dir)
	if !ok {
		return nil
	}
	return &ledger.Head{Branch: branch, Commit: commit}
}

// From is what the first entry of a command has of HEAD.
func From(h *ledger.Head) *ledger.HeadMove {
	if h == nil {
		return nil
	}
	return &ledger.HeadMove{From: h}
}

// Moved is what the last entry of a command has of HEAD: nothing if HEAD is where it was.
func Moved(from *ledger.Head, dir string) *ledger.HeadMove {
	to := Head(dir)
	if from == to || from != nil && to != nil && *from == *to {
		return nil
	}
	return &ledger.HeadMove{From: from, To: to}
}
