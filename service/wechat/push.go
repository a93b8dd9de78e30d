package wechat

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPushAge bounds how long a captured push could be sent again; the inbox's unique
// id covers the time below it.
const maxPushAge = 300 * time.Second

var (
	// ErrPushUnverified means: not WeChat's, not in safe mode, for another app, or too old.
	ErrPushUnverified = errors.New("wechat: the push is not verifiably WeChat's")
	// ErrPushMalformed means: WeChat's, yet it cannot be read.
	ErrPushMalformed = errors.New("wechat: the push cannot be read")
	// ErrPushOff means: no push token is configured.
	ErrPushOff = errors.New("wechat: message push is not configured")
)

// PushQuery holds the query parameters of a push.
type PushQuery struct {
	Signature    string
	MsgSignature string
	Timestamp    string
	Nonce        string
	EncryptType  string
}

// Push is a verified message of WeChat's.
type Push struct {
	ID         string // made from the message: the same for every resend, unique in an inbox
	MsgType    string
	Event      string // of an event; empty otherwise
	FromOpenID string
	CreateTime time.Time
	Message    []byte // the decrypted message
	XML        bool   // Message is XML, else JSON
}

// VerifyPushEcho answers WeChat's GET check of the push address: it returns echostr,
// to be sent back as plain text, when the signature is right.
func (c *Client) VerifyPushEcho(signature, timestamp, nonce, echostr string) (string, error) {
	if c.keys.pushAES == nil {
		return "", ErrPushOff
	}
	if !sameText(signature, pushSignature(c.cfg.PushToken, timestamp, nonce)) {
		return "", ErrPushUnverified
	}
	return echostr, nil
}

// ParsePush verifies and decrypts a push in safe mode. The plain signature proves
// nothing about the body, so msg_signature is required, and a message in clear is
// refused whatever it is signed with.
func (c *Client) ParsePush(q PushQuery, body []byte) (Push, error) {
	if c.keys.pushAES == nil {
		return Push{}, ErrPushOff
	}
	var envelope struct {
		Encrypt string `json:"Encrypt" xml:"Encrypt"`
	}
	isXML, err := decodePush(body, &envelope)
	if err != nil || envelope.Encrypt == "" || q.EncryptType != "aes" {
		return Push{}, ErrPushUnverified
	}
	if !sameText(q.MsgSignature, pushSignature(c.cfg.PushToken, q.Timestamp, q.Nonce, envelope.Encrypt)) {
		return Push{}, ErrPushUnverified
	}
	seconds, err := strconv.ParseInt(q.Timestamp, 10, 64)
	if err != nil || c.now().Sub(time.Unix(seconds, 0)).Abs() > maxPushAge {
		return Push{}, ErrPushUnverified
	}
	message, appID, err := openPush(c.keys.pushAES, envelope.Encrypt)
	if err != nil {
		return Push{}, ErrPushMalformed
	}
	if appID != c.cfg.AppID {
		return Push{}, ErrPushUnverified
	}
	return readPush(message, isXML)
}

func readPush(message []byte, isXML bool) (Push, error) {
	var m struct {
		MsgType      string      `json:"MsgType" xml:"MsgType"`
		Event        string      `json:"Event" xml:"Event"`
		FromUserName string      `json:"FromUserName" xml:"FromUserName"`
		CreateTime   json.Number `json:"CreateTime" xml:"CreateTime"`
	}
	if _, err := decodePush(message, &m); err != nil || m.MsgType == "" {
		return Push{}, ErrPushMalformed
	}
	digest := sha256.Sum256(message)
	p := Push{
		ID: hex.EncodeToString(digest[:]), MsgType: m.MsgType, Event: m.Event,
		FromOpenID: m.FromUserName, Message: message, XML: isXML,
	}
	if seconds, err := m.CreateTime.Int64(); err == nil {
		p.CreateTime = time.Unix(seconds, 0)
	}
	return p, nil
}

// decodePush reads JSON or XML, whichever the console is set to.
func decodePush(raw []byte, into any) (isXML bool, err error) {
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "<") {
		return true, xml.Unmarshal(raw, into)
	}
	return false, json.Unmarshal(raw, into)
}

func pushSignature(parts ...string) string {
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// openPush decrypts AES-256-CBC with PKCS#7 padding in blocks of 32. The plaintext is
// 16 random bytes, the message's length in four, the message, the app id.
func openPush(key []byte, encrypted string) (message []byte, appID string, err error) {
	bad := errors.New("not a safe-mode ciphertext")
	data, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil || len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, "", bad
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, "", err
	}
	cipher.NewCBCDecrypter(block, key[:aes.BlockSize]).CryptBlocks(data, data)
	pad := int(data[len(data)-1])
	if pad < 1 || pad > 32 || pad > len(data)-20 {
		return nil, "", bad
	}
	data = data[:len(data)-pad]
	size := binary.BigEndian.Uint32(data[16:20])
	if uint64(size) > uint64(len(data)-20) {
		return nil, "", bad
	}
	return data[20 : 20+size], string(data[20+size:]), nil
}
