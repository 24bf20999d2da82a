package config

import (
	"strings"

	"kerf/internal/config/schema"
)

// foreign are the keys of other agents' files that Kerf has no use for.
func foreign() schema.Foreign { return schema.Foreign{Quiet: paths(quietKeys), Loud: paths(loudKeys)} }

const quietKeys = `
	check_for_update_on_startup analytics features feedback notice hide_agent_reasoning show_raw_agent_reasoning
	file_opener personality model_verbosity service_tier disable_paste_burst memories windows
	suppress_unstable_features_warning commit_attribution tool_suggest include_apps_instructions
	include_collaboration_mode_instructions include_environment_context include_permissions_instructions
	plan_mode_reasoning_effort model_catalog_json model_supports_reasoning_summaries
	model_auto_compact_token_limit_scope model_post_turn_compact_threshold_percent
	background_terminal_max_timeout sqlite_home log_dir ghost_snapshot mcp_oauth_callback_port
	mcp_oauth_callback_url mcp_oauth_credentials_store preferred_auth_method disable_response_storage
	chatgpt_base_url marketplaces model_providers.*.websocket_connect_timeout_ms agents.*.nickname_candidates
	agents.default_subagent_model agents.job_max_runtime_seconds permissions.*.description
	permissions.*.network.proxy_url permissions.*.network.socks_url permissions.*.network.enable_socks5
	permissions.*.network.enable_socks5_udp permissions.*.network.allow_upstream_proxy
	permissions.*.network.allow_local_binding permissions.*.network.dangerously_allow_non_loopback_proxy
	permissions.*.network.dangerously_allow_all_unix_sockets tools.experimental_request_user_input tui.*
	mcp_servers.*.name mcp_servers.*.transport`

const loudKeys = `
	notify otel skills plugins auto_review approvals_reviewer instructions model_instructions_file
	experimental_instructions_file compact_prompt forced_login_method forced_chatgpt_workspace_id
	model_providers.*.aws agents.*.config_file`

// paths are the parts of names with dots between them, and spaces between the names. A list that is written out
// as one is code that fills it, of 7 KB.
func paths(names string) (list [][]string) {
	for _, name := range strings.Fields(names) {
		list = append(list, strings.Split(name, "."))
	}
	return list
}
