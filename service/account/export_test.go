package account

import (
	"context"
	"time"
)

// Turns are those to compute a hash.
type Turns = turns

// NewTurns makes them as New does.
func NewTurns() Turns { return newTurns() }

// Take waits for one.
func (t turns) Take(ctx context.Context) (release func(), err error) { return t.take(ctx) }

// FillTurns takes every turn and every place to wait for one.
func (a *Accounts) FillTurns() (free func()) {
	for range cap(a.turns.places) {
		a.turns.places <- struct{}{}
	}
	return func() {
		for range cap(a.turns.places) {
			<-a.turns.places
		}
	}
}

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

// CountStranger counts a failure of a name that nobody has and returns how long it is locked.
func (a *Accounts) CountStranger(name string, from Client) (locked time.Duration) {
	return a.strangers.count(name, a.now(), ofAddress(from), everywhere)
}

// StrangersSeen is how much is remembered of such names.
func (a *Accounts) StrangersSeen() int { return len(a.strangers.seen) }
