package model

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
)

// AftersaleStep is one change of an after-sale.
type AftersaleStep struct {
	State      AftersaleState `json:"state"`             // that it led to
	Actor      string         `json:"actor"`             // who did it, such as admin:3
	Failed     bool           `json:"failed,omitempty"`  // its refund failed for good, and it waits for the merchant again
	Text       string         `json:"text,omitempty"`    // the shopper's reason, the merchant's answer, or what WeChat said
	Carrier    string         `json:"carrier,omitempty"` // of the parcel that the shopper sent back
	TrackingNo string         `json:"tracking_no,omitempty"`
	At         Time           `json:"at"`
}

// maxSteps is how many steps of an after-sale are kept. Only a parcel that is corrected again and again gets there.
const maxSteps = 50

// AftersaleSteps are kept as JSON in the after-sale's own row, so that a change and its step are one statement.
type AftersaleSteps []AftersaleStep

// With returns the steps and one more. Where they are too many the oldest but the first is left out.
func (s AftersaleSteps) With(step AftersaleStep) AftersaleSteps {
	s = append(slices.Clone(s), step)
	if len(s) > maxSteps {
		s = slices.Delete(s, 1, 2)
	}
	return s
}

// Value writes the column.
func (s AftersaleSteps) Value() (driver.Value, error) {
	if s == nil {
		return nil, nil
	}
	b, err := json.Marshal([]AftersaleStep(s))
	return string(b), err
}

// Scan reads the column.
func (s *AftersaleSteps) Scan(src any) error {
	var b []byte
	switch v := src.(type) {
	case nil:
	case []byte:
		b = v
	case string:
		b = []byte(v)
	default:
		return fmt.Errorf("steps of an after-sale as %T", src)
	}
	if *s = nil; len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, (*[]AftersaleStep)(s))
}
