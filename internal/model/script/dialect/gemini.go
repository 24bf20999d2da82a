package dialect

import (
	"encoding/base64"
	"fmt"

	"kerf/internal/model"
	"kerf/internal/model/script"
)

// renderGemini writes a round as a stream of candidates. What was thought before
// a call is signed with the call.
func renderGemini(r script.Round, k int) []string {
	id := fmt.Sprintf("gen-%d", k)
	var usage M
	if u := r.Usage; u != nil {
		usage = M{"promptTokenCount": u.Input, "cachedContentTokenCount": u.Cached,
			"candidatesTokenCount": u.Output - u.Reasoning,
			"thoughtsTokenCount":   u.Reasoning, "totalTokenCount": u.Input + u.Output}
	}
	event := func(part M, reason string) string {
		candidate := M{"index": 0, "content": M{"role": "model", "parts": []M{part}}}
		m := M{"responseId": id, "modelVersion": "scripted", "candidates": []M{candidate}}
		if reason != "" {
			candidate["finishReason"] = reason
			if usage != nil {
				m["usageMetadata"] = usage
			}
		}
		return data(m)
	}
	var events []string
	signature := ""
	for n, i := range r.Items {
		item := i.Model(k, n)
		switch item.Kind {
		case model.Reasoning:
			for _, w := range script.Words(i.Reasoning) {
				events = append(events, event(M{"text": w, "thought": true}, ""))
			}
			signature = base64.StdEncoding.EncodeToString([]byte(seal(k, n)))
		case model.Message:
			for _, w := range script.Words(i.Message) {
				events = append(events, event(M{"text": w}, ""))
			}
		default:
			part := M{"functionCall": M{"id": item.CallID, "name": item.Name, "args": object(item)}}
			if signature != "" {
				part["thoughtSignature"] = signature
				signature = ""
			}
			events = append(events, event(part, ""))
		}
	}
	switch {
	case r.Cut:
		return append(events, ": cut\n\n") // an answer without items has an event all the same
	case r.Error != nil:
		return append(events, data(M{"error": geminiError(r.Error)}))
	}
	last := M{"text": ""}
	if signature != "" {
		last["thoughtSignature"] = signature
	}
	return append(events, event(last, "STOP"))
}

func geminiError(f *script.Failure) M {
	status, words := "INTERNAL", errorWords(f)
	switch f.Kind {
	case model.Auth:
		status = "UNAUTHENTICATED"
	case model.Quota:
		status = "insufficient_quota"
	case model.BadCall:
		status = "INVALID_ARGUMENT"
	case model.Context:
		status, words = "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed. "+words
	case model.RateLimit:
		status = "RESOURCE_EXHAUSTED"
	}
	return M{"code": errorStatus(f), "message": words, "status": status}
}
