package order

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

const (
	// KindUpload uploads to WeChat how an order was shipped (shipping_uploads.next_at). Its key is the order's id.
	KindUpload = "shipinfo"

	// MaxCorrections is how often WeChat lets the shipping information of an order be changed once all of it was uploaded.
	MaxCorrections = 1

	uploadWorkers = 4
	// uploadCall covers the upload and the question that may follow it, each with another token if need be.
	uploadCall = 4*wechat.CallLimit + callMargin
	// uploadGiveUp is how long WeChat is asked again that does not know the payment of an order: its own order lags the payment
	// for seconds, sometimes for minutes.
	uploadGiveUp = 3 * 24 * time.Hour
)

// uploadPauses are the pauses between calls that WeChat does not take yet; the last one stays.
var uploadPauses = []time.Duration{
	5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
}

// uploadMended is the pause where somebody has to mend the shop's credentials or rights first, or where the day's calls are used up:
// every order that was shipped meanwhile waits for the same.
const uploadMended = time.Hour

// uploadPause is the pause before an upload is made again that has been wanted for so long.
func uploadPause(kind wechat.Kind, waited time.Duration) time.Duration {
	switch kind {
	case wechat.KindSetup, wechat.KindFrequency:
		return uploadMended
	}
	return deadline.Pause(waited, uploadPauses)
}

func uploadTask(id int64, at model.Time) timeout.Task {
	return timeout.Task{Kind: KindUpload, Key: strconv.FormatInt(id, 10), Due: int64(at)}
}

// uploadOf reads the upload of an order; nil if there is none.
func uploadOf(db *gorm.DB, orderID int64) (*model.ShippingUpload, error) {
	var rows []model.ShippingUpload
	if err := db.Where("id = ?", orderID).Limit(1).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, store.Classify(err)
	}
	return &rows[0], nil
}

// renewUpload makes the upload of an order due now, in the transaction that changed what it says or tries it again. The caller
// holds the order's lock, as everybody does who changes an upload. What WeChat has no payment for is never uploaded.
func (s *Service) renewUpload(tx *store.Tx, o *model.Order, now model.Time) error {
	u, err := uploadOf(tx.DB, o.ID)
	switch {
	case err != nil:
		return err
	case u == nil:
		u = &model.ShippingUpload{
			ID: o.ID, MerchantID: o.MerchantID, State: model.UploadWaiting, NextAt: &now, Revision: 1, WantedAt: now, CreatedAt: now, UpdatedAt: now,
		}
		if o.PayableFen == 0 {
			u.State, u.NextAt = model.UploadSkipped, nil
		}
		err = tx.Create(u).Error
	case u.State == model.UploadSkipped:
	default:
		err = tx.Exec("UPDATE parcels SET state = ? WHERE order_id = ? AND state = ?", model.ParcelWaiting, o.ID, model.ParcelRefused).Error
		if err != nil {
			return err
		}
		err = s.moveUpload(tx, u, model.UploadWaiting, map[string]any{
			"next_at": now, "calls": 0, "revision": u.Revision + 1, "wanted_at": now, "error": "", "updated_at": now,
		})
		u.NextAt = &now
	}
	if err == nil && u.NextAt != nil {
		ctx := context.WithoutCancel(tx.Statement.Context)
		tx.AfterCommit(func() { s.schedule(ctx, uploadTask(o.ID, now)) })
	}
	return err
}

// moveUpload changes an upload, and its state unless that stays. errMoved where it is not as it was read.
func (s *Service) moveUpload(tx *store.Tx, u *model.ShippingUpload, to model.UploadState, set map[string]any) error {
	if to != u.State && !model.UploadTransitions.Allowed(u.State, to) {
		return fmt.Errorf("upload of order %d from %s to %s: %w", u.ID, u.State, to, errMoved)
	}
	sets, args := "state = ?", []any{to}
	for _, column := range slices.Sorted(maps.Keys(set)) {
		sets, args = sets+", "+column+" = ?", append(args, set[column])
	}
	n, err := tx.Affected("UPDATE shipping_uploads SET "+sets+" WHERE id = ? AND state = ? AND revision = ?",
		append(args, u.ID, u.State, u.Revision)...)
	if err == nil && n == 0 {
		err = fmt.Errorf("upload of order %d: %w", u.ID, errMoved)
	}
	return err
}

// uploadDue uploads how an order was shipped. A call whose answer was lost is made again: WeChat says then that it has it.
func (s *Service) uploadDue(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	seen, err := uploadOf(s.Store.Read(ctx), id)
	switch {
	case err != nil:
		return failed(err)
	case seen == nil || seen.NextAt == nil:
		return timeout.Done()
	case *seen.NextAt > due:
		return timeout.Reschedule(int64(*seen.NextAt))
	}
	up, err := s.claimUpload(ctx, id, *seen.NextAt)
	switch {
	case errors.Is(err, errMoved):
		return timeout.Again(err)
	case err != nil:
		return failed(err)
	case up == nil: // decided without a call
		return timeout.Done()
	}
	failpoint.Hit("shipinfo.claimed")
	claim := deadline.Claim{Table: "shipping_uploads", Column: "next_at", ID: id, Due: up.due, Until: up.until}
	return claim.Ended(ctx, s.Store, s.uploadClaimed(ctx, up))
}

// uploadClaimed calls WeChat for a claimed upload and records what it says.
func (s *Service) uploadClaimed(ctx context.Context, up *upload) timeout.Outcome {
	err := s.callUpload(ctx, up)
	failpoint.Hit("shipinfo.called")
	if err != nil {
		return s.uploadFailed(ctx, up, err)
	}
	if err := s.uploadTaken(ctx, up); err != nil {
		return failed(err)
	}
	failpoint.Hit("shipinfo.recorded")
	return s.uploadNext(ctx, up.id)
}

// callUpload calls WeChat. That the order is shipped already is no answer to a correction, that it cannot be shipped any more none to a
// call whose answer was lost before all of it was refunded, and that the correction was used none to the correction whose answer was
// lost: WeChat is asked what it has.
func (s *Service) callUpload(ctx context.Context, up *upload) error {
	err := s.WeChat.UploadShipping(ctx, up.info)
	var e *wechat.Error
	if !errors.As(err, &e) || !slices.Contains([]string{wechat.CodeShippedAlready, wechat.CodeNotShippable, wechat.CodeCorrectionUsed}, e.Code) {
		return err
	}
	has, queryErr := s.WeChat.QueryShipping(ctx, up.info.OutTradeNo)
	if queryErr != nil {
		return queryErr
	}
	if has.Holds(up.info) {
		return nil
	}
	return err
}

// uploadNext says when an upload is called about next, as it is stored.
func (s *Service) uploadNext(ctx context.Context, id int64) timeout.Outcome {
	u, err := uploadOf(s.Store.Read(ctx), id)
	switch {
	case err != nil:
		return failed(err)
	case u == nil || u.NextAt == nil:
		return timeout.Done()
	}
	return timeout.Reschedule(int64(*u.NextAt))
}

// uploadTaken records that WeChat has an upload, whatever has become of the order meanwhile. Only the answer to what is to be
// uploaded still ends the waiting.
func (s *Service) uploadTaken(ctx context.Context, up *upload) error {
	return s.inUpload(ctx, up.id, func(tx *store.Tx, u *model.ShippingUpload) error {
		now := s.Now()
		set := map[string]any{"updated_at": now}
		overtaken, waited := up.at <= u.SentAt, u.Revision == up.revision && u.State == model.UploadWaiting
		if overtaken && !waited { // by the answer to a later call
			return nil
		}
		if !overtaken {
			set["sent_at"], set["sent_hash"], set["split"], set["finished"], set["uploaded_at"] = up.at, up.hash, up.info.Split, up.finished, now
			if u.Finished && u.SentHash != up.hash {
				set["corrections"] = min(u.Corrections+1, MaxCorrections) // a later call may have been told already that it was used
			}
		}
		to := u.State
		if waited {
			to, set["next_at"], set["error"] = model.UploadDone, nil, ""
			if err := moveParcels(tx, up.parcels, model.ParcelUploaded, now); err != nil {
				return err
			}
		}
		return s.moveUpload(tx, u, to, set)
	})
}

// uploadFailed decides what follows when WeChat did not take an upload: what has no certain answer and what may yet be taken is
// called again, a definite refusal waits for the merchant. What was changed meanwhile is uploaded anew.
func (s *Service) uploadFailed(ctx context.Context, up *upload, cause error) timeout.Outcome {
	now := s.Now()
	kind := wechat.KindOf(cause)
	silent := kind == wechat.KindUnknown || kind == wechat.KindUnavailable
	err := s.inUpload(ctx, up.id, func(tx *store.Tx, u *model.ShippingUpload) error {
		if u.Revision != up.revision || u.State != model.UploadWaiting {
			return nil
		}
		if givenUp(cause, now.Sub(u.WantedAt)) {
			return s.refuseUpload(tx, u, up.parcels, cause, now)
		}
		next := s.goesOn(up.due)
		if !silent {
			next = now.Add(uploadPause(kind, now.Sub(u.WantedAt)))
		}
		if u.NextAt != nil && *u.NextAt == next { // another call failed within this millisecond
			return nil
		}
		return s.moveUpload(tx, u, u.State, map[string]any{"next_at": next, "error": cutText(cause.Error(), 255), "updated_at": now})
	})
	switch {
	case err != nil:
		return failed(err)
	case silent:
		return timeout.Again(cause)
	}
	return s.uploadNext(ctx, up.id)
}

// givenUp reports whether calling again is of no use.
func givenUp(cause error, waited time.Duration) bool {
	var e *wechat.Error
	switch wechat.KindOf(cause) {
	case wechat.KindUnknown, wechat.KindUnavailable, wechat.KindFrequency, wechat.KindSetup:
		return false
	case wechat.KindBusy:
		return errors.As(cause, &e) && e.Code == wechat.CodeShippingNoPay && waited > uploadGiveUp
	}
	return true
}

// refuseUpload ends an upload that WeChat will not take. The order stays as it is, and the merchant sees why.
func (s *Service) refuseUpload(tx *store.Tx, u *model.ShippingUpload, parcels []int64, cause error, now model.Time) error {
	said, corrections := cutText(cause.Error(), 255), u.Corrections
	var e *wechat.Error
	if errors.As(cause, &e) && e.Code == wechat.CodeCorrectionUsed {
		corrections = max(corrections, MaxCorrections)
	}
	if err := moveParcels(tx, parcels, model.ParcelRefused, now); err != nil {
		return err
	}
	ctx := context.WithoutCancel(tx.Statement.Context)
	tx.AfterCommit(func() {
		s.Log.WarnContext(ctx, "WeChat does not take the shipping information of an order", "order", u.ID, "merchant", u.MerchantID, "error", said)
	})
	return s.moveUpload(tx, u, model.UploadRefused, map[string]any{"next_at": nil, "error": said, "corrections": corrections, "updated_at": now})
}

// moveParcels notes on parcels of an order what became of their upload.
func moveParcels(tx *store.Tx, ids []int64, to model.ParcelState, now model.Time) error {
	if len(ids) == 0 {
		return nil
	}
	sets, args := "state = ?", []any{to}
	if to == model.ParcelUploaded {
		sets, args = sets+", uploaded_at = ?", append(args, now)
	}
	return tx.Exec("UPDATE parcels SET "+sets+" WHERE id IN ? AND state IN ?", append(args, ids, model.ParcelTransitions.From(to))...).Error
}

// inUpload runs fn under the lock of the upload's order.
func (s *Service) inUpload(ctx context.Context, id int64, fn func(tx *store.Tx, u *model.ShippingUpload) error) error {
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		if _, err := s.lock(tx, id); err != nil {
			return err
		}
		u, err := uploadOf(tx.DB, id)
		if err != nil || u == nil {
			return err
		}
		return fn(tx, u)
	})
}
