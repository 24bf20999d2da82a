package policy

import "kerf/internal/protocol"

// Remote is what is known of a call of an MCP server's tool.
type Remote struct {
	Server, Tool string
	// Mode is the user's word on the tool: "approve" lets it run, "auto" and
	// "prompt" have it asked.
	Mode string
	// Reads is set for resources, which servers hand out without doing anything.
	Reads bool
	// Allowed was the tool in this session; Changed says that it is no longer what
	// was allowed.
	Allowed, Changed bool
}

// Remote judges a call that leaves Kerf. What servers claim of their tools, that
// they only read for instance, decides nothing.
func (r Rules) Remote(c Remote) Judgement {
	howTo := "set mcp_servers." + c.Server + `.default_tools_approval_mode = "approve" in config.toml, or tools.` +
		c.Tool + `.approval_mode`
	switch {
	case c.Reads:
		return Judgement{By: "resources are only read"}
	case r.Mode.Plans():
		return refuse("plan mode", "this is plan mode: tools of MCP servers may change things and are not called. Propose "+
			"the call in the plan")
	case c.Changed:
		return r.orRefuse(Judgement{Verdict: Ask, By: "the tool changed",
			Reason: "the server changed this tool since it was allowed"}, howTo)
	case c.Mode == "approve":
		return Judgement{By: "approval_mode approve"}
	case c.Allowed:
		return Judgement{By: "allowed for this session"}
	case r.Mode.Unbounded():
		return Judgement{By: "nothing is asked and nothing confined"}
	}
	return r.orRefuse(Judgement{Verdict: Ask, By: "approval_mode " + c.Mode,
		Reason: "tools of MCP servers need approval; to allow this one always, " + howTo}, howTo)
}

// Host is what is known of a host that Kerf itself would reach for the model.
type Host struct {
	Name string
	// Listed and Denied are what the user's rules say; Allowed was it in this session.
	Listed, Denied, Allowed bool
}

// Fetch judges the reading of a page. Its address tells the host what the model puts into
// it, so each host is the user's decision.
func (r Rules) Fetch(h Host) Judgement {
	howTo := "set web_fetch.domains.\"" + h.Name + "\" = \"allow\" in config.toml"
	switch {
	case h.Denied:
		return refuse("web_fetch.domains", "the user's configuration denies the host %s", h.Name)
	case h.Listed:
		return Judgement{By: "web_fetch.domains"}
	case h.Allowed:
		return Judgement{By: "allowed for this session"}
	case r.Mode.Unbounded():
		return Judgement{By: "nothing is asked and nothing confined"}
	}
	return r.orRefuse(Judgement{Verdict: Ask, By: "no rule names " + h.Name,
		Reason: "the model wants to read a page of a host that no rule names"}, howTo)
}

// orRefuse returns j, or a refusal if j asks and nobody may be asked.
func (r Rules) orRefuse(j Judgement, howTo string) Judgement {
	if r.Confined {
		return refuse(j.By, "%s, and this session was begun by a client of the user's server, which does not stand for the "+
			"user. The user can allow it: %s", j.By, howTo)
	}
	if r.Mode.Approval() == protocol.PolicyNever {
		return refuse("approval policy never", "%s, and the approval policy is never. The user can allow it: %s", j.By, howTo)
	}
	return j
}
