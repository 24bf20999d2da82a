package wire

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"kerf/internal/model"
)

// codes are those by which providers tell a cause.
func codes(kind model.ErrorKind) []string {
	all := ""
	switch kind {
	case model.Context:
		all = "context_length_exceeded exceed_context_size_error context_window_exceeded context_overflow " +
			"model_max_prompt_tokens_exceeded request_too_large model_context_window_exceeded 1261"
	case model.Quota:
		all = "insufficient_quota usage_limit_reached usage_not_included billing_hard_limit_reached " +
			"billing_not_active billing_error quota_exceeded credits_exhausted exceeded_current_quota_error " +
			"insufficient_balance 1113"
	case model.Auth:
		all = "invalid_api_key authentication_error permission_error unauthenticated permission_denied " +
			"token_expired unauthorized accessdeniedexception expiredtokenexception " +
			"unrecognizedclientexception"
	case model.RateLimit:
		all = "rate_limit_exceeded rate_limit_error resource_exhausted too_many_requests throttlingexception " +
			"modelnotreadyexception servicequotaexceededexception"
	case model.Server:
		all = "server_error internal_server_error internal_error api_error overloaded_error " +
			"server_is_overloaded overloaded slow_down unavailable service_unavailable timeout timeout_error " +
			"internalserverexception modelstreamerrorexception modeltimeoutexception modelerrorexception " +
			"serviceunavailableexception " + misspoken
	case model.BadCall:
		all = "invalid_prompt invalid_request_error invalid_argument bad_request model_not_found " +
			"not_found_error unsupported_value unsupported_parameter content_policy_violation " +
			"validationexception resourcenotfoundexception"
	}
	return strings.Fields(all)
}

// misspoken is the code of a provider that could not read the call that its model wrote.
// Asked again, the model mostly does better.
const misspoken = "tool_use_failed"

// kindOrder is the order in which codes are tried.
var kindOrder = []model.ErrorKind{model.Context, model.Quota, model.Auth, model.RateLimit, model.Server, model.BadCall}

// decisive are the kinds that a code tells whatever the status says.
var decisive = []model.ErrorKind{model.Context, model.Quota}

// The sentences by which providers tell causes that no code and no status tells. They are
// compared without regard to case.
var sentences = sync.OnceValue(func() map[model.ErrorKind]*regexp.Regexp {
	join := func(all ...string) *regexp.Regexp { return regexp.MustCompile("(?i)" + strings.Join(all, "|")) }
	// A word for what holds the conversation, and one for too much of it, in either order.
	const room = `(?:context (?:window|length|size|limit)|(?:model'?s?|max(?:imum)?) context)`
	const much = `(?:exceed|too (?:long|large|many)|maximum|greater|longer|not enough|configured)`
	return map[model.ErrorKind]*regexp.Regexp{
		model.Context: join(
			room+`.{0,200}`+much, much+`.{0,200}`+room,
			`(?:prompt|input) (?:is )?too long`, `too many (?:input )?tokens: total`, `too many input tokens`,
			`input token count.{0,60}(?:exceeds|supports)`,
			`maximum (?:prompt|model|input) length`, `maximum allowed (?:input )?length`,
			`prompt token count of \d+ exceeds`, `exceeded model token limit`,
			`max(?:imum)? input token limit`, `exceeds the model'?s max of \d`, `maximum number of (?:input|prompt) tokens`,
			`tokens in request more than max tokens`, `total message size \d+ exceeds`,
			`reduce the length of the (?:messages|input|prompt)`, `range of input length should be`,
			`max_new_tokens.{0,3} must be`, `exceeds max_(?:seq|model)_len`, `prompt 超长`),
		model.Quota: join(`credit balance is too low`, `insufficient (?:account )?balance`, `余额不足`,
			`exceeded your current quota`, `used all available credits`, `spending limit`, `requires more credits`,
			`insufficient (?:\w+ )?credits?`, `monthly (?:usage )?(?:limit|quota)`, `limit for this billing cycle`,
			`out of credits`),
		// What passes by waiting, though it speaks of tokens and limits.
		model.RateLimit: join(`rate.?limit`, `throttl`, `tokens? per (?:minute|day|hour)`, `please wait`),
	}
})

// tooLarge is what proxies and servers say of a whole request, not of a part of it.
var tooLarge = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:413 |error:? )*(?:request|payload|content|request body|request entity) (?:is )?too large`)
})

// kind sorts a failure. Context and quota are told by words under various statuses, so
// the words come first; after them the status decides.
func kind(f *Failure, status int) model.ErrorKind {
	byCode := kindOfCode(f.Code)
	if byCode == "" {
		byCode = kindOfCode(f.Type)
	}
	if slices.Contains(decisive, byCode) {
		return byCode
	}
	if f.Code == invalidKey {
		return model.Auth
	}
	if byWords := kindOfWords(f, status); byWords != "" {
		return byWords
	}
	if f.Code == misspoken {
		return model.Server
	}
	if status < 300 && f.Status != 0 {
		status = f.Status
	}
	if byStatus, ok := kindOfStatus(status); ok {
		return byStatus
	}
	switch {
	case byCode != "":
		return byCode
	case strings.HasPrefix(f.Code, "invalid_"), strings.HasPrefix(f.Type, "invalid_"):
		return model.BadCall
	}
	return model.Server
}

// kindOfWords is context or quota, or empty when the words tell of neither. A conversation
// that is too long has certain statuses; a limit that is told with the time of its end
// passes.
func kindOfWords(f *Failure, status int) model.ErrorKind {
	words, said := sentences(), f.Message[:min(len(f.Message), maxMessage)]
	switch {
	case f.Daily:
		return model.Quota
	case words[model.Quota].MatchString(said) && f.Reset == 0:
		return model.Quota
	case words[model.RateLimit].MatchString(said):
	case status == http.StatusRequestEntityTooLarge && f.Code == "" && (said == "" || tooLarge().MatchString(said)):
		return model.Context // a server that gives no reason but the size
	case status >= 400 && status != 400 && status != 413 && status != 422:
	case words[model.Context].MatchString(said):
		return model.Context
	}
	return ""
}

func kindOfCode(code string) model.ErrorKind {
	code = strings.ToLower(code)
	for _, kind := range kindOrder {
		if slices.Contains(codes(kind), code) {
			return kind
		}
	}
	return ""
}

// kindOfStatus reports false for a status that says nothing of an error.
func kindOfStatus(status int) (model.ErrorKind, bool) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return model.Auth, true
	case status == http.StatusPaymentRequired:
		return model.Quota, true
	case status == http.StatusTooManyRequests:
		return model.RateLimit, true
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return model.Server, true
	case status >= 300:
		return model.BadCall, true
	}
	return "", false
}
