package skills

import "strings"

// frontMatter takes the fields between two "---" lines off a text. Of YAML it knows what
// people write there: values on the line, in quotes, on the lines below it, as blocks, and
// lists, whose elements are joined by commas.
func frontMatter(text string) (fields map[string]string, body string) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	head, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, strings.TrimSpace(text)
	}
	head, body, ok = strings.Cut("\n"+head, "\n---")
	if !ok {
		return nil, strings.TrimSpace(text)
	}
	_, body, _ = strings.Cut(body, "\n") // the rest of the line of dashes
	fields = map[string]string{}
	key := ""
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, " \t\n")
		word := strings.TrimLeft(line, " \t")
		indented := len(word) < len(line) || strings.HasPrefix(word, "- ")
		switch name, value, ok := strings.Cut(line, ":"); {
		case word == "" || strings.HasPrefix(word, "#") && !indented:
		case indented && key != "":
			fields[key] = joined(fields[key], word)
		case ok && !indented:
			key = strings.TrimSpace(name)
			fields[key] = scalar(value)
		}
	}
	for name, value := range fields {
		fields[name] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return fields, strings.TrimSpace(body)
}

// scalar is the value on the line of its key; what begins a block is none.
func scalar(value string) string {
	value = strings.TrimSpace(value)
	if block := strings.TrimLeft(value, ">|"); len(value) == len(block)+1 && strings.Trim(block, "+-0123456789") == "" {
		return ""
	}
	if list, ok := strings.CutPrefix(value, "["); ok && strings.HasSuffix(list, "]") {
		return strings.TrimSuffix(list, "]")
	}
	return value
}

// joined adds a line to a value.
func joined(value, line string) string {
	if item, ok := strings.CutPrefix(line, "- "); ok {
		if value == "" {
			return item
		}
		return value + ", " + item
	}
	return strings.TrimSpace(value + " " + line)
}
