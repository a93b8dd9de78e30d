package app_test

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// picture stores a picture of its own.
func (v *village) picture() model.Image {
	v.Helper()
	v.people++
	img := image.NewGray(image.Rect(0, 0, 8, 8))
	img.Pix[0], img.Pix[1] = byte(v.people), byte(v.people>>8)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		v.Fatal(err)
	}
	stored, err := v.Files.Save(v.Context(), &b)
	if err != nil {
		v.Fatal(err)
	}
	return stored
}

// reviewed makes a review with pictures.
func (v *village) reviewed(pictures ...model.Image) (who int64, r *model.Review) {
	v.Helper()
	who = v.shopper()
	o, line := v.completed(who)
	r, err := v.Reviews.Add(v.Context(), who, o.No, review.Draft{LineID: line, Rating: 5, Content: "好看", Pictures: pictures})
	if err != nil {
		v.Fatal(err)
	}
	return who, r
}

func (v *village) reviewState(id int64) model.ReviewState {
	v.Helper()
	var r model.Review
	if err := v.Store.Read(v.Context()).First(&r, id).Error; err != nil {
		v.Fatal(err)
	}
	return r.State
}

// A review with pictures is shown when WeChat's pushes have passed all of them.
func TestAReviewIsShownOnceItsPicturesArePassed(t *testing.T) {
	eachVillage(t, func(v *village) {
		_, r := v.reviewed(v.picture(), v.picture())
		if r.State != model.ReviewHeld {
			v.Errorf("the review is %s before its pictures were looked at", r.State)
		}
		v.await("the review", func() bool { return v.reviewState(r.ID) == model.ReviewVisible })
		rating, err := v.Reviews.RatingOf(v.Context(), v.product)
		if err != nil || rating != (review.Rating{Stars: [5]int64{4: 1}, Pictured: 1}) {
			v.Errorf("%+v, %v", rating, err)
		}
	})
}

func (v *village) push(trace, suggest string, errcode int) {
	v.Helper()
	v.control("POST", "/sandbox/notify", map[string]any{"to": "push", "message": map[string]any{
		"MsgType": "event", "Event": wechat.EventMediaCheck, "trace_id": trace, "errcode": errcode, "result": map[string]any{"suggest": suggest, "label": 20002},
	}}, 200)
}

// Of a picture that is not passed the review is not shown: risky refuses it with all that is still open of it, doubtful waits for a
// person, and so does one of which WeChat says nothing for a day.
func TestPicturesThatAreNotPassed(t *testing.T) {
	eachVillage(t, func(v *village) {
		v.control("POST", "/sandbox/settings", map[string]any{"media_hold": true}, 200)
		waiting := func(n int) (int64, *model.Review, *model.ContentHold) {
			var pictures []model.Image
			for range n {
				pictures = append(pictures, v.picture())
			}
			who, r := v.reviewed(pictures...)
			v.await("the trace ids", func() bool {
				return v.number("SELECT COUNT(*) FROM content_holds WHERE ref_id = ? AND kind = 'picture' AND trace_id <> ''", r.ID) == int64(n)
			})
			return who, r, v.hold(model.HoldPicture, who)
		}

		_, r, h := waiting(2)
		v.push(h.TraceID, "risky", 0)
		if v.reviewState(r.ID) != model.ReviewRefused || v.number("SELECT COUNT(*) FROM content_holds WHERE ref_id = ? AND kind = 'picture' AND state = 'superseded'", r.ID) != 1 {
			v.Errorf("after a risky picture the review is %s", v.reviewState(r.ID))
		}

		who, r, h := waiting(1)
		v.push(h.TraceID, "review", 0)
		if h = v.hold(model.HoldPicture, who); h.Reason != model.HoldDoubtful || h.Label != 20002 || h.NextAt != nil || v.reviewState(r.ID) != model.ReviewHeld {
			v.Errorf("a doubtful picture: %+v", h)
		}
		if _, err := v.Content.Decide(v.Context(), content.Scope{MerchantID: v.merchant}, content.Decision{ID: h.ID, Version: h.Version, Pass: true, By: "admin:1"}); err != nil || v.reviewState(r.ID) != model.ReviewVisible {
			v.Errorf("approved: %v, %s", err, v.reviewState(r.ID))
		}
		v.push(h.TraceID, "risky", 0) // a later word changes nothing
		if v.reviewState(r.ID) != model.ReviewVisible {
			v.Error("a late push took an approved review away")
		}

		who, r, h = waiting(1)
		if left := h.NextAt.Sub(v.Now()); left < 23*time.Hour || left > 24*time.Hour {
			v.Errorf("a verdict is waited for %s", left)
		}
		if err := v.Store.Read(v.Context()).Exec("UPDATE content_holds SET next_at = ? WHERE id = ?", v.Now(), h.ID).Error; err != nil { // a day is over
			v.Fatal(err)
		}
		v.await("giving up", func() bool { return v.hold(model.HoldPicture, who).NextAt == nil })
		if now := v.hold(model.HoldPicture, who); now.Reason != model.HoldFailed || now.State != model.HoldHeld || v.reviewState(r.ID) != model.ReviewHeld {
			v.Errorf("after a day: %+v", now)
		}
		v.push(h.TraceID, "pass", 0) // better late than never
		if v.reviewState(r.ID) != model.ReviewVisible {
			v.Errorf("after the late push the review is %s", v.reviewState(r.ID))
		}

		who, _, h = waiting(1)
		v.push(h.TraceID, "", -1008)
		if now := v.hold(model.HoldPicture, who); now.Reason != model.HoldFailed || now.TraceID != "" || now.NextAt == nil || now.NextAt.Sub(v.Now()) > time.Minute {
			v.Errorf("a picture that WeChat could not fetch: %+v", now)
		}
	})
}

// Others see an avatar once it is passed, and only one that is stored here; the shopper has it at once.
func TestAvatarsAreShownOncePassed(t *testing.T) {
	eachVillage(t, func(v *village) {
		v.control("POST", "/sandbox/settings", map[string]any{"media_hold": true}, 200)
		who, _ := v.reviewed()
		seen := func() string {
			list, _, err := v.Reviews.OfProduct(v.Context(), review.Filter{ProductID: v.product}, store.Cursor{}, 10)
			if err != nil || len(list) != 1 {
				v.Fatal(list, err)
			}
			return list[0].Avatar
		}
		change := func(url string) *model.ContentHold {
			p, err := v.Accounts.ChangeProfile(v.Context(), who, account.ProfileInput{Avatar: &url})
			if err != nil || p.Avatar != url {
				v.Fatalf("%+v, %v", p, err)
			}
			h := v.hold(model.HoldAvatar, who)
			v.await("the trace id", func() bool {
				h = v.hold(model.HoldAvatar, who)
				return h == nil || h.TraceID != "" || h.State != model.HoldHeld
			})
			return h
		}
		if h := change("https://elsewhere.example/a.png"); h != nil || seen() != "" {
			v.Errorf("a picture of elsewhere: %+v, shown %q", h, seen())
		}
		first, second := v.picture(), v.picture()
		h := change(v.Files.URL(first.Key))
		if seen() != "" {
			v.Errorf("an avatar is shown before it is passed: %q", seen())
		}
		v.push(h.TraceID, "pass", 0)
		if seen() != first.ThumbKey {
			v.Errorf("a passed avatar is shown as %q", seen())
		}
		if again := change(v.Files.URL(first.Key)); again.ID != h.ID || seen() != first.ThumbKey {
			v.Errorf("the avatar that the shopper has is judged anew: %+v, shown %q", again, seen())
		}
		h = change(v.Files.URL(second.Key))
		if seen() != "" {
			v.Errorf("after a change %q is shown", seen())
		}
		v.push(h.TraceID, "risky", 0)
		if now := v.hold(model.HoldAvatar, who); now.State != model.HoldRefused || seen() != "" {
			v.Errorf("a risky avatar: %+v, shown %q", now, seen())
		}
		h = change(v.Files.URL(first.Key))
		if seen() != first.ThumbKey {
			v.Errorf("an avatar that was passed before is shown as %q while it is judged again", seen())
		}
		v.push(h.TraceID, "risky", 0)
		if now := v.hold(model.HoldAvatar, who); now.State != model.HoldRefused || seen() != "" {
			v.Errorf("an avatar that was passed before and is refused now: %+v, shown %q", now, seen())
		}
	})
}

// A line is reviewed once, by whom it belongs to, after its order is completed and before the time is over.
func TestALineIsReviewedOnce(t *testing.T) {
	eachVillage(t, func(v *village) {
		who := v.shopper()
		o, err := v.Orders.Place(v.Context(), who, v.basket(""))
		if err != nil {
			v.Fatal(err)
		}
		line := v.number("SELECT id FROM order_lines WHERE order_id = ?", o.ID)
		add := func(who int64, no string, d review.Draft) error {
			_, err := v.Reviews.Add(v.Context(), who, no, d)
			return err
		}
		if err := add(who, o.No, review.Draft{LineID: line, Rating: 5}); !fault.Is(err, fault.OrderState) {
			v.Errorf("before it is completed: %v", err)
		}
		o, line = v.completed(who)
		for what, c := range map[string]struct {
			err  error
			want fault.Code
		}{
			"a stranger":        {add(v.shopper(), o.No, review.Draft{LineID: line, Rating: 5}), fault.NotFoundError},
			"another line":      {add(who, o.No, review.Draft{LineID: line + 999, Rating: 5}), fault.ValidationFailed},
			"six stars":         {add(who, o.No, review.Draft{LineID: line, Rating: 6}), fault.ValidationFailed},
			"a strange picture": {add(who, o.No, review.Draft{LineID: line, Rating: 5, Pictures: []model.Image{{Key: "0123456789abcdef0123456789abcdef-8x8.png"}}}), fault.ValidationFailed},
			"501 characters":    {add(who, o.No, review.Draft{LineID: line, Rating: 5, Content: strings.Repeat("好", 501)}), fault.ValidationFailed},
		} {
			if !fault.Is(c.err, c.want) {
				v.Errorf("%s: %v", what, c.err)
			}
		}
		mine, err := v.Orders.Get(v.Context(), who, o.No)
		if err != nil || !slices.Contains(mine.ShopperActions(), "review") || !mine.Reviewable(mine.Lines[0]) {
			v.Errorf("actions %v, %v", mine.ShopperActions(), err)
		}
		results := make(chan error, 16)
		for range cap(results) {
			go func() { results <- add(who, o.No, review.Draft{LineID: line, Rating: 3}) }()
		}
		done := 0
		for range cap(results) {
			if err := <-results; err == nil {
				done++
			} else if !fault.Is(err, fault.ReviewExists) {
				v.Error(err)
			}
		}
		rating, err := v.Reviews.RatingOf(v.Context(), v.product)
		if n := v.number("SELECT COUNT(*) FROM reviews WHERE line_id = ?", line); done != 1 || n != 1 || err != nil || rating.Stars != [5]int64{2: 1} || rating.Average() != 30 {
			v.Errorf("%d done, %d rows, rating %+v, %v", done, n, rating, err)
		}
		mine, err = v.Orders.Get(v.Context(), who, o.No)
		if err != nil || slices.Contains(mine.ShopperActions(), "review") || mine.Lines[0].ReviewedAt == 0 {
			v.Errorf("afterwards: actions %v, %v", mine.ShopperActions(), err)
		}
		late, lateLine := v.completed(who)
		if err := v.Store.Read(v.Context()).Exec("UPDATE orders SET completed_at = completed_at - ? WHERE id = ?", (30 * 24 * time.Hour).Milliseconds(), late.ID).Error; err != nil {
			v.Fatal(err)
		}
		if err := add(who, late.No, review.Draft{LineID: lateLine, Rating: 5}); !fault.Is(err, fault.ReviewClosed) {
			v.Errorf("after thirty days: %v", err)
		}
	})
}

// The merchant hides, shows and answers; lists and counts follow at once, and of several who do so at the same time one does.
func TestTheMerchantsSideOfReviews(t *testing.T) {
	eachVillage(t, func(v *village) {
		who, r := v.reviewed()
		listed := func() int {
			list, _, err := v.Reviews.OfProduct(v.Context(), review.Filter{ProductID: v.product}, store.Cursor{}, 10)
			if err != nil {
				v.Fatal(err)
			}
			rating, err := v.Reviews.RatingOf(v.Context(), v.product)
			if err != nil || rating.Count() != int64(len(list)) || rating.Stars[4] != int64(len(list)) {
				v.Errorf("%d are listed and %+v counted, %v", len(list), rating, err)
			}
			return len(list)
		}
		if listed() != 1 {
			v.Error("the review is not listed")
		}
		if _, err := v.Reviews.Hide(v.Context(), 99, r.ID, 1); !fault.Is(err, fault.NotFoundError) {
			v.Errorf("another merchant: %v", err)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		hidden := 0
		for range 8 {
			all.Go(func() {
				_, err := v.Reviews.Hide(v.Context(), v.merchant, r.ID, 1)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					hidden++
				} else if !fault.Is(err, fault.StaleVersion) && !fault.Is(err, fault.StateConflict) {
					v.Error(err)
				}
			})
		}
		all.Wait()
		if hidden != 1 || listed() != 0 {
			v.Errorf("hidden by %d, %d listed", hidden, listed())
		}
		if mine, _, err := v.Reviews.List(v.Context(), review.Filter{ShopperID: who}, store.Page{Number: 1, Limit: 10}); err != nil || len(mine) != 1 || mine[0].State != model.ReviewHidden {
			v.Errorf("the author sees %+v, %v", mine, err)
		}
		if _, err := v.Reviews.Answer(v.Context(), v.merchant, r.ID, 1, "谢谢", "admin:1"); !fault.Is(err, fault.StaleVersion) {
			v.Errorf("a stale answer: %v", err)
		}
		answered, err := v.Reviews.Answer(v.Context(), v.merchant, r.ID, 2, " 谢谢 ", "admin:1")
		if err != nil || answered.Answer != "谢谢" || answered.AnsweredBy != "admin:1" || answered.Version != 3 {
			v.Errorf("%+v, %v", answered, err)
		}
		if _, err := v.Reviews.Show(v.Context(), v.merchant, r.ID, 3); err != nil || listed() != 1 {
			v.Errorf("shown again: %v, %d listed", err, listed())
		}
		if rows, n, err := v.Reviews.List(v.Context(), review.Filter{MerchantID: v.merchant, Unanswered: true}, store.Page{Number: 1, Limit: 10}); err != nil || n != 0 || len(rows) != 0 {
			v.Errorf("%d unanswered, %v", n, err)
		}
		// What is held is decided among the holds, not here.
		other := v.shopper()
		o, line := v.completed(other)
		held, err := v.Reviews.Add(v.Context(), other, o.No, review.Draft{LineID: line, Rating: 1, Content: "可疑"})
		if err != nil {
			v.Fatal(err)
		}
		if _, err := v.Reviews.Show(v.Context(), v.merchant, held.ID, 1); !fault.Is(err, fault.StateConflict) || listed() != 1 {
			v.Errorf("a held review was shown: %v", err)
		}
		if _, err := v.Reviews.Answer(v.Context(), v.merchant, held.ID, 1, "谢谢", "admin:1"); !fault.Is(err, fault.StateConflict) {
			v.Errorf("a held review was answered: %v", err)
		}
	})
}
