package account

import "context"

// SealPhone seals a number as an installation with the secret does.
func SealPhone(secret string, shopperID int64, number string) string {
	k, err := deriveKeys(secret, nil)
	if err != nil {
		panic(err)
	}
	return k.phone.seal(shopperOwner(shopperID), number)
}

// WriteSeen writes the times at which sessions were last seen without waiting for the turn to do so.
func (a *Accounts) WriteSeen(ctx context.Context) error { return a.sessions.write(ctx) }
