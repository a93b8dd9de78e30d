package sandbox

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxBody = 1 << 20
	maxSkew = 5 * time.Minute
)

// refusal is an error reply of WeChat Pay.
type refusal struct {
	status  int
	code    string // spelled with underscores; the reply may drop them
	message string
	detail  *refusalDetail
}

type refusalDetail struct {
	Field    string `json:"field"`
	Value    any    `json:"value"`
	Issue    string `json:"issue"`
	Location string `json:"location"`
}

func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, code: code, message: message}
}

func paramError(field string, value any, issue string) *refusal {
	return &refusal{400, "PARAM_ERROR", "参数错误：" + field + " " + issue, &refusalDetail{field, value, issue, "body"}}
}

// signed wraps a handler of WeChat Pay: the request's signature is really checked, a
// 2xx reply is really signed, an error is not. The handler returns the status and the
// reply (nil for none), or a refusal.
func (s *Server) signed(h func(r *http.Request, body []byte) (int, any, *refusal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := bodyOf(r)
		if r.UserAgent() == "" || r.Header.Get("Accept") == "" {
			s.writeRefusal(w, refuse(400, "INVALID_REQUEST", "Http头缺少Accept或User-Agent"))
			return
		}
		if why := s.checkSignature(r, body); why != "" {
			s.writeRefusal(w, refuse(401, "SIGN_ERROR", "签名错误："+why))
			return
		}
		status, reply, refused := h(r, body)
		if refused != nil {
			s.writeRefusal(w, refused)
			return
		}
		s.writeSigned(w, r, status, reply)
	}
}

var authorizationField = regexp.MustCompile(`(\w+)="([^"]*)"`)

// checkSignature says what is wrong with the request's signature, or nothing.
func (s *Server) checkSignature(r *http.Request, body []byte) string {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme != "WECHATPAY2-SHA256-RSA2048" {
		return "Authorization is not WECHATPAY2-SHA256-RSA2048"
	}
	field := map[string]string{}
	for _, m := range authorizationField.FindAllStringSubmatch(rest, -1) {
		field[m[1]] = m[2]
	}
	seconds, err := strconv.ParseInt(field["timestamp"], 10, 64)
	switch {
	case field["mchid"] != s.keys.MchID:
		return "mchid is not this merchant's"
	case !strings.EqualFold(field["serial_no"], s.keys.MchCertSerial):
		return "serial_no is not this merchant's certificate"
	case err != nil || time.Since(time.Unix(seconds, 0)).Abs() > maxSkew:
		return "timestamp is more than five minutes off"
	}
	text := fmt.Sprintf("%s\n%s\n%s\n%s\n%s\n", r.Method, r.RequestURI, field["timestamp"], field["nonce_str"], body)
	if !verify(s.keys.merchant, text, field["signature"]) {
		return "the signature does not fit the request"
	}
	return ""
}

func verify(key *rsa.PublicKey, text, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	digest := sha256.Sum256([]byte(text))
	return err == nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], raw) == nil
}

func sign(key *rsa.PrivateKey, text string) string {
	digest := sha256.Sum256([]byte(text))
	raw, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		panic("sandbox: " + err.Error()) // a 2048-bit key signs
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// signHeader adds what WeChat sends with everything it signs: replies and notifications.
func signHeader(h http.Header, key *rsa.PrivateKey, serial string, at time.Time, body []byte) {
	timestamp, nonce := strconv.FormatInt(at.Unix(), 10), randomHex(16)
	h.Set("Wechatpay-Timestamp", timestamp)
	h.Set("Wechatpay-Nonce", nonce)
	h.Set("Wechatpay-Serial", serial)
	h.Set("Wechatpay-Signature-Type", "WECHATPAY2-SHA256-RSA2048")
	h.Set("Wechatpay-Signature", sign(key, timestamp+"\n"+nonce+"\n"+string(body)+"\n"))
}

func (s *Server) writeSigned(w http.ResponseWriter, r *http.Request, status int, reply any) {
	var body []byte
	if reply != nil {
		body = encode(reply)
	}
	s.writeSignedRaw(w, r, status, body)
}

func (s *Server) writeSignedRaw(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	key, serial := s.signer(cmp.Or(r.Header.Get("Wechatpay-Serial"), "none"))
	signHeader(w.Header(), key, serial, time.Now(), body)
	w.Header().Set("Request-Id", strings.ToUpper(randomHex(12)))
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (s *Server) writeRefusal(w http.ResponseWriter, r *refusal) {
	reply := map[string]any{"code": s.spell(r.code), "message": r.message}
	if r.detail != nil {
		reply["detail"] = r.detail
	}
	status := r.status
	if r.code == "ORDER_PAID" && s.settings().Spelling == "random" && s.coin() {
		status = 403 // both are seen
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Request-Id", strings.ToUpper(randomHex(12)))
	w.WriteHeader(status)
	_, _ = w.Write(encode(reply))
}

// spell writes a code as one generation or another of WeChat's pages has it.
func (s *Server) spell(code string) string {
	mode := s.settings().Spelling
	if mode == "old" || (mode == "random" && s.coin()) {
		return strings.ReplaceAll(code, "_", "")
	}
	return code
}

// coin falls by chance, or with a seed in the settings as it fell the last time with that seed.
func (s *Server) coin() bool {
	seed := s.settings().SpellingSeed
	if seed == 0 {
		return mathrand.IntN(2) == 0
	}
	return mathrand.New(mathrand.NewPCG(seed, s.tosses.Add(1))).IntN(2) == 0
}

// encode writes JSON as WeChat does: without HTML escapes and a trailing newline.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("sandbox: " + err.Error()) // our own types
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// strict decodes a request body of WeChat Pay, which refuses fields it does not know.
func strict(body []byte, into any) *refusal {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil && dec.More() {
		err = errors.New("more than one JSON value")
	}
	if err == nil {
		return nil
	}
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return paramError(wrongType.Field, wrongType.Value, "类型错误")
	}
	return refuse(400, "PARAM_ERROR", "请求体不符合要求："+strings.TrimPrefix(err.Error(), "json: "))
}

// booksFailed is the answer when the disk does not take a change.
func (s *Server) booksFailed(err error) *refusal {
	s.log.Error("the sandbox cannot write its books", "err", err)
	return refuse(500, "SYSTEM_ERROR", "系统异常，请用相同参数重新调用")
}
