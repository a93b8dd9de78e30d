package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
)

// TOTP has the operations on the caller's second factor.
type TOTP struct {
	Service interface {
		TOTP(ctx context.Context, by account.AdminIdentity) (account.TOTPState, error)
		BeginTOTP(ctx context.Context, by account.AdminIdentity) (account.TOTPSetup, error)
		ConfirmTOTP(ctx context.Context, by account.AdminIdentity, password, code string) ([]string, error)
		DisableTOTP(ctx context.Context, by account.AdminIdentity, password, code string) error
		RenewRecoveryCodes(ctx context.Context, by account.AdminIdentity, password, code string) ([]string, error)
	}
}

// SecondFactor says whether logging in takes a code besides the password.
type SecondFactor struct {
	Enabled      bool       `json:"enabled"`
	Since        model.Time `json:"since,omitzero" format:"date-time"`
	RecoveryLeft int64      `json:"recovery_left" doc:"Recovery codes that were not used yet"`
}

// Get returns how the caller's second factor stands.
func (t *TOTP) Get(ctx context.Context, _ *struct{}) (*api.Reply[SecondFactor], error) {
	s, err := t.Service.TOTP(ctx, api.Admin(ctx))
	if err != nil {
		return nil, err
	}
	return api.Body(SecondFactor{Enabled: s.On, Since: s.Since, RecoveryLeft: s.RecoveryLeft}), nil
}

// SecondFactorSetup is what an authenticator app needs.
type SecondFactorSetup struct {
	Secret string `json:"secret" doc:"For typing; base32"`
	URL    string `json:"otpauth_url"`
	QR     []byte `json:"qr" doc:"The URL as a QR code: a PNG picture"`
}

// Begin makes a secret for the caller.
func (t *TOTP) Begin(ctx context.Context, _ *struct{}) (*api.Reply[SecondFactorSetup], error) {
	s, err := t.Service.BeginTOTP(ctx, api.Admin(ctx))
	if err != nil {
		return nil, err
	}
	return api.Body(SecondFactorSetup{Secret: s.Secret, URL: s.URL, QR: s.PNG}), nil
}

// TOTPCodeBody is the first code of a second factor, with the password.
type TOTPCodeBody struct {
	Password string `json:"password" minLength:"1" maxLength:"512" format:"password"`
	Code     string `json:"code" minLength:"6" maxLength:"16" doc:"What the app shows now"`
}

// TOTPCodeInput confirms a second factor.
type TOTPCodeInput struct{ Body TOTPCodeBody }

// RecoveryCodes are shown once.
type RecoveryCodes struct {
	Codes []string `json:"recovery_codes" doc:"Each stands in for a code, once"`
}

// Confirm turns the second factor on.
func (t *TOTP) Confirm(ctx context.Context, in *TOTPCodeInput) (*api.Reply[RecoveryCodes], error) {
	codes, err := t.Service.ConfirmTOTP(ctx, api.Admin(ctx), in.Body.Password, in.Body.Code)
	if err != nil {
		return nil, err
	}
	return api.Body(RecoveryCodes{codes}), nil
}

// TOTPProofBody proves that it is the admin who asks.
type TOTPProofBody struct {
	Password string `json:"password" minLength:"1" maxLength:"512" format:"password"`
	Code     string `json:"code" minLength:"6" maxLength:"64" doc:"What the app shows now, or a recovery code"`
}

// TOTPProofInput changes a second factor that is on.
type TOTPProofInput struct{ Body TOTPProofBody }

// Disable turns the second factor off.
func (t *TOTP) Disable(ctx context.Context, in *TOTPProofInput) (*api.Empty, error) {
	return nil, t.Service.DisableTOTP(ctx, api.Admin(ctx), in.Body.Password, in.Body.Code)
}

// Renew replaces the recovery codes.
func (t *TOTP) Renew(ctx context.Context, in *TOTPProofInput) (*api.Reply[RecoveryCodes], error) {
	codes, err := t.Service.RenewRecoveryCodes(ctx, api.Admin(ctx), in.Body.Password, in.Body.Code)
	if err != nil {
		return nil, err
	}
	return api.Body(RecoveryCodes{codes}), nil
}
