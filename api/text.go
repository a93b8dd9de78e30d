package api

import (
	"strings"

	"github.com/tidemall/tidemall/service/fault"
)

// Written returns what somebody wrote without the space around it; validation_failed on the field where nothing is left.
func Written(field, text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" {
		return "", fault.New(fault.ValidationFailed).With(field, fault.FieldRequired, "", "")
	}
	return text, nil
}
