package history

import (
	"strings"

	"kerf/internal/model"
)

// imageTokens is what an image counts for where no provider has counted it.
const imageTokens = 1800

// itemOverhead is what an item costs beside its text.
const itemOverhead = 8

// Size estimates the tokens of an item.
func Size(it *model.Item) int {
	bytes, images := len(it.Name)+len(it.Input)+len(it.Encrypted), 0
	for _, s := range it.Summary {
		bytes += len(s)
	}
	for _, p := range it.Content {
		bytes += len(p.Text)
		if p.ImageURL != "" {
			images++
		}
	}
	return (bytes+BytesPerToken-1)/BytesPerToken + images*imageTokens + itemOverhead
}

// Sizes estimates the tokens of items.
func Sizes(items []*model.Item) int {
	n := 0
	for _, it := range items {
		n += Size(it)
	}
	return n
}

// WordsBudget is how many tokens of the user's own words a compaction keeps.
const WordsBudget = 20_000

// SummaryPrompt asks for the summary of a compaction.
const SummaryPrompt = "The conversation has become too long and will be replaced by a summary that you write now. " +
	"Write it for a colleague who takes over without having seen anything: what the user wants and what they forbid or " +
	"prefer; " +
	"what was done and decided, and why; what is known of the code, with file names; what is not finished and the next " +
	"steps; errors that came up and what helped. " +
	"Be exact and brief. Do not call tools. Answer with the summary alone."

// summaryHead stands before a summary.
const summaryHead = "<session_summary>\nThe earlier part of this conversation was replaced by this summary. Go on " +
	"from here; what was done is done.\n\n"

// Replacement is a history after a compaction: what the model is told of its
// surroundings, the user's words as far as the budget goes, the summary with the
// notes, and last the words that were not answered yet (the last open ones). The
// second result says which items are words.
func Replacement(context, words []*model.Item, open int, summary string, n *Notes) (items []*model.Item, kept []int) {
	split := len(words) - min(open, len(words))
	items = append(items, context...)
	for _, w := range newest(words[:split], WordsBudget) {
		kept = append(kept, len(items))
		items = append(items, w)
	}
	if strings.TrimSpace(summary) == "" {
		summary = "(there is no summary)"
	}
	text := summaryHead + strings.ReplaceAll(summary, "</session_summary", "<\\/session_summary") + "\n</session_summary>"
	if notes := n.Text(); notes != "" {
		text += "\n\n" + notes
	}
	items = append(items, model.UserText(text))
	for _, w := range words[split:] {
		kept = append(kept, len(items))
		items = append(items, w)
	}
	return items, kept
}

// newest returns the last of words that fit into budget, in order. The first one
// that does not fit whole is shortened; images stay with open words only.
func newest(words []*model.Item, budget int) []*model.Item {
	first := len(words)
	var kept []*model.Item
	for first > 0 && budget > 0 {
		first--
		text := words[first].Text()
		it := words[first]
		if size := Tokens(text); size > budget || hasImage(it) {
			it = model.UserText(withoutImages(it, Truncate(text, budget)))
		}
		budget -= Tokens(text)
		kept = append(kept, it)
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	return kept
}

func hasImage(it *model.Item) bool {
	for _, p := range it.Content {
		if p.ImageURL != "" {
			return true
		}
	}
	return false
}

func withoutImages(it *model.Item, text string) string {
	if hasImage(it) {
		text = strings.TrimLeft(text+"\n(an image that was here is no longer shown)", "\n")
	}
	return text
}

// DropOldest removes at least a tenth of items, and at least one, from the
// front, and the outputs whose calls went with them. It returns nil when nothing
// but the last item would be left.
func DropOldest(items []*model.Item) []*model.Item {
	goal, n := Sizes(items)/10, 0
	gone := map[string]bool{}
	for n < len(items)-1 && (n == 0 || goal > 0) {
		if items[n].Kind == model.Call {
			gone[items[n].CallID] = true
		}
		goal -= Size(items[n])
		n++
	}
	if n >= len(items)-1 {
		return nil
	}
	var rest []*model.Item
	for _, it := range items[n:] {
		if it.Kind == model.Output && gone[it.CallID] {
			continue
		}
		rest = append(rest, it)
	}
	return rest
}
