package prompt

import (
	"fmt"
	"strings"

	"kerf/internal/model"
)

// skillBudget bounds the list of skills, in bytes.
const skillBudget = 8000

// SkillList is the list of skills as the model is told of it.
type SkillList struct {
	b       strings.Builder
	leftOut int
}

// Add puts a skill on the list, as long as there is room.
func (l *SkillList) Add(name, description, path string) {
	line := fmt.Sprintf("- %s: %s (%s)\n", name, escape(description), path)
	if l.b.Len()+len(line) > skillBudget {
		l.leftOut++
		return
	}
	l.b.WriteString(line)
}

// Item returns the item that tells of the skills, or nil if there are none.
func (l *SkillList) Item() *model.Item {
	if l.b.Len() == 0 {
		return nil
	}
	text := "<skills>\nInstructions for kinds of work. When one fits the task, read its file with read_file before you " +
		"start, and follow it. " +
		"Other files it names are read the same way, as skill:NAME/FILE.\n" + l.b.String()
	if l.leftOut > 0 {
		text += fmt.Sprintf("(%d more do not fit here)\n", l.leftOut)
	}
	return model.UserText(text + "</skills>")
}

// Skill returns the item with the instructions of a skill that the user named.
func Skill(name, body string) *model.Item {
	return model.UserText("<skill name=\"" + name + "\">\n" +
		strings.ReplaceAll(body, "</skill", "<\\/skill") + "\n</skill>")
}
