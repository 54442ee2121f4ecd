package problem

import (
	"fmt"
	"regexp"
	"strings"
)

// fillIn is the beginning of the tokens that llm-d-benchmark replaces in its files.
const fillIn = "REPLACE_ENV_"

var (
	token    = regexp.MustCompile(fillIn + `[A-Za-z0-9_]+`)
	variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
)

// Unfilled says so where text holds the token of a template, such as REPLACE_ENV_MODEL, or a variable ${NAME}, in whose
// place a value should stand; "" where it holds none. Variables are let be where somebody who comes later fills them
// in: a shell, a server, a query.
func Unfilled(text string, letVariables bool) string {
	hole := ""
	if strings.Contains(text, fillIn) {
		hole = token.FindString(text)
	}
	if hole == "" && !letVariables && strings.Contains(text, "${") {
		hole = variable.FindString(text)
	}
	if hole == "" {
		return ""
	}
	return fmt.Sprintf("nothing has filled in %s: write its value there", hole)
}
