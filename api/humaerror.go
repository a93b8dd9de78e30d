package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/tidemall/tidemall/service/fault"
)

// huma is configured through its package variables; they must be set before the first operation is registered.
func init() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		if status == 0 { // huma asks for an empty one to make the schema from
			return &Problem{}
		}
		return NewProblem(fromHuma(status, msg, errs))
	}
	huma.NewErrorWithContext = func(_ huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return huma.NewError(status, msg, errs...)
	}
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	setMessages()
}

// Localized is huma's transformer that puts the caller's language and the request id into errors, just before they are written.
func Localized(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*Problem); ok {
		p.Localize(LanguageOf(ctx.Context()), RequestID(ctx.Context()))
		Note(ctx.Context(), p)
	}
	return v, nil
}

// JSON is the only format of the API. Unlike huma's it names the field that has the wrong type.
var JSON = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v)
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			return fmt.Errorf("%s|%s", fault.FieldType, wrongType.Field)
		}
		return err
	},
}

// setMessages replaces huma's English sentences by "code|argument…", from which fields are translated.
func setMessages() {
	for code, messages := range map[fault.Code][]*string{
		fault.FieldUnknown: {&validation.MsgUnexpectedProperty},
		fault.FieldType: {
			&validation.MsgExpectedBoolean, &validation.MsgExpectedNumber, &validation.MsgExpectedInteger, &validation.MsgExpectedString,
			&validation.MsgExpectedArray, &validation.MsgExpectedObject,
		},
		fault.FieldFormat: {
			&validation.MsgExpectedRFC3339DateTime, &validation.MsgExpectedRFC1123DateTime, &validation.MsgExpectedRFC3339Date,
			&validation.MsgExpectedRFC3339Time, &validation.MsgExpectedRFC5890Hostname, &validation.MsgExpectedRFC2673IPv4,
			&validation.MsgExpectedRFC2373IPv6, &validation.MsgExpectedRFCIPAddr, &validation.MsgExpectedRFC6570URITemplate,
			&validation.MsgExpectedRFC6901JSONPointer, &validation.MsgExpectedRFC6901RelativeJSONPointer,
			&validation.MsgExpectedBase64String, &validation.MsgExpectedMatchAtLeastOneSchema,
			&validation.MsgExpectedMatchExactlyOneSchema, &validation.MsgExpectedNotMatchSchema, &validation.MsgExpectedPropertyNameInObject,
		},
		fault.FieldDup: {&validation.MsgExpectedArrayItemsUnique},
	} {
		for _, m := range messages {
			*m = string(code)
		}
	}
	for m, code := range map[*string]fault.Code{ // those with an argument that people need not see
		&validation.MsgExpectedRFC5322Email: fault.FieldFormat, &validation.MsgExpectedRFC3986URI: fault.FieldFormat,
		&validation.MsgExpectedRFC4122UUID: fault.FieldFormat, &validation.MsgExpectedRegexp: fault.FieldFormat,
		&validation.MsgExpectedDuration: fault.FieldFormat, &validation.MsgExpectedBePattern: fault.FieldFormat,
		&validation.MsgExpectedMatchPattern: fault.FieldFormat,
	} {
		*m = string(code) + "|%v"
	}
	for m, text := range map[*string]string{
		&validation.MsgExpectedOneOf:                     "not_a_choice|one|%s",
		&validation.MsgExpectedMinimumNumber:             "out_of_range|≥|%v",
		&validation.MsgExpectedExclusiveMinimumNumber:    "out_of_range|>|%v",
		&validation.MsgExpectedMaximumNumber:             "out_of_range|≤|%v",
		&validation.MsgExpectedExclusiveMaximumNumber:    "out_of_range|<|%v",
		&validation.MsgExpectedNumberBeMultipleOf:        "out_of_range|multiple|%v",
		&validation.MsgExpectedMinLength:                 "wrong_length|chars ≥|%d",
		&validation.MsgExpectedMaxLength:                 "wrong_length|chars ≤|%d",
		&validation.MsgExpectedMinItems:                  "wrong_length|items ≥|%d",
		&validation.MsgExpectedMaxItems:                  "wrong_length|items ≤|%d",
		&validation.MsgExpectedMinProperties:             "wrong_length|items ≥|%d",
		&validation.MsgExpectedMaxProperties:             "wrong_length|items ≤|%d",
		&validation.MsgExpectedRequiredProperty:          "required|%s",
		&validation.MsgExpectedDependentRequiredProperty: "required|%s|%s",
	} {
		*m = text
	}
}

// fromHuma turns what huma found wrong with a request into an error with a code.
func fromHuma(status int, msg string, errs []error) error {
	switch status {
	case http.StatusBadRequest:
		if strings.HasPrefix(msg, "request body is required") {
			return fault.New(fault.MissingBody)
		}
		return fault.New(fault.MalformedBody).Say("请求体不是合法的 JSON", "The body is not valid JSON")
	case http.StatusRequestTimeout:
		return fault.New(fault.SlowBody)
	case http.StatusRequestEntityTooLarge:
		return fault.New(fault.BodyTooLarge)
	case http.StatusUnsupportedMediaType, http.StatusNotAcceptable:
		return fault.New(fault.UnsupportedMedia).Say("不支持的 Content-Type，请使用 application/json", "Unsupported media type; send application/json")
	case http.StatusUnprocessableEntity:
		return invalid(errs)
	case http.StatusNotFound:
		return fault.New(fault.NotFoundError)
	}
	cause := errors.Join(errs...)
	if f := bodyFault(cause); f != nil {
		return f
	}
	var known *fault.Error
	if errors.As(cause, &known) {
		return cause
	}
	if msg == "cannot read request body" {
		return BodyError(cause)
	}
	if cause == nil {
		cause = errors.New(msg)
	}
	return fault.Wrap(fault.InternalError, cause)
}

// BodyError turns what reading a request's body failed with into an error with a code.
func BodyError(err error) error {
	if f := bodyFault(err); f != nil {
		return f
	}
	return fault.Wrap(fault.MalformedBody, err) // the connection broke
}

// bodyFault recognises a body that was too large or too slow, wherever it was read; multipart errors arrive as text only.
func bodyFault(err error) *fault.Error {
	if err == nil {
		return nil
	}
	var large *http.MaxBytesError
	text := err.Error()
	switch {
	case errors.As(err, &large), strings.Contains(text, "request body too large"), strings.Contains(text, "message too large"):
		return fault.New(fault.BodyTooLarge)
	case strings.Contains(text, "i/o timeout"):
		return fault.New(fault.SlowBody)
	case strings.Contains(text, "isn't multipart/form-data"):
		return fault.New(fault.UnsupportedMedia).Say("不支持的 Content-Type，请使用 multipart/form-data", "Unsupported media type; send multipart/form-data")
	case strings.HasPrefix(text, "cannot read multipart form"):
		return fault.New(fault.MalformedBody).Say("请求体不是合法的 multipart/form-data 表单", "The body is not a valid multipart/form-data form")
	}
	return nil
}

// invalid collects the fields. A path parameter that cannot be right means that the thing is not there.
func invalid(errs []error) error {
	f := fault.New(fault.ValidationFailed)
	for _, err := range errs {
		var known *fault.Error
		if errors.As(err, &known) {
			return known
		}
		var d *huma.ErrorDetail
		if !errors.As(err, &d) {
			return fault.Wrap(fault.InternalError, err)
		}
		if strings.HasPrefix(d.Location, "path.") {
			return fault.New(fault.NotFoundError)
		}
		if b := bodyFault(errors.New(d.Message)); b != nil {
			return b
		}
		f.Fields = append(f.Fields, field(d.Location, d.Message))
	}
	return f
}

// field translates one of huma's complaints. The location "body.items[0].quantity" becomes "items[0].quantity".
func field(location, message string) fault.Field {
	for _, prefix := range []string{"body.", "query.", "header.", "form.", "cookie.", "body"} {
		if rest, ok := strings.CutPrefix(location, prefix); ok {
			location = rest
			break
		}
	}
	code, args := splitMessage(message)
	out := fault.Field{Field: location, Code: code}
	switch {
	case code == fault.FieldRequired && len(args) > 0, code == fault.FieldType && len(args) > 0 && args[0] != "":
		if out.Field != "" && args[0] != "" {
			out.Field += "."
		}
		out.Field += args[0]
	case len(args) == 2:
		out.Message = phrase(args[0], args[1])
	}
	return out
}

// splitMessage reads "code|argument…"; the sentences that huma has no variable for are known by their beginnings.
func splitMessage(message string) (code fault.Code, args []string) {
	parts := strings.Split(message, "|")
	switch c := fault.Code(parts[0]); c {
	case fault.FieldRequired, fault.FieldUnknown, fault.FieldType, fault.FieldRange, fault.FieldLength, fault.FieldFormat,
		fault.FieldChoice, fault.FieldDup:
		return c, parts[1:]
	}
	switch {
	case strings.HasPrefix(message, "required ") && strings.HasSuffix(message, "is missing"):
		return fault.FieldRequired, nil
	case strings.HasPrefix(message, "unknown query"):
		return fault.FieldUnknown, nil
	case strings.HasPrefix(message, "invalid date"), strings.HasPrefix(message, "invalid url"), strings.HasPrefix(message, "invalid value"):
		return fault.FieldFormat, nil
	case strings.Contains(message, "is required"):
		return fault.FieldRequired, nil
	}
	return fault.FieldType, nil
}

func phrase(kind, arg string) fault.Text {
	switch kind {
	case "≥", ">", "≤", "<":
		arg = inFull(arg)
		return fault.Text{ZH: "必须 " + kind + " " + arg, EN: "must be " + kind + " " + arg}
	case "multiple":
		arg = inFull(arg)
		return fault.Text{ZH: "必须是 " + arg + " 的倍数", EN: "must be a multiple of " + arg}
	case "chars ≥", "chars ≤":
		sign := strings.TrimPrefix(kind, "chars ")
		return fault.Text{ZH: "长度必须 " + sign + " " + arg + " 个字符", EN: "must have " + sign + " " + arg + " characters"}
	case "items ≥", "items ≤":
		sign := strings.TrimPrefix(kind, "items ")
		return fault.Text{ZH: "数量必须 " + sign + " " + arg, EN: "must have " + sign + " " + arg + " entries"}
	case "one":
		return fault.Text{ZH: "必须是其中之一：" + arg, EN: "must be one of " + arg}
	}
	return fault.Text{}
}

// inFull writes a bound without an exponent. huma keeps bounds as floats, and its sentences have 1e+10 for 10000000000.
func inFull(bound string) string {
	x, err := strconv.ParseFloat(bound, 64)
	if err != nil {
		return bound
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
