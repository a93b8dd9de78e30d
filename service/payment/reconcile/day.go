package reconcile

import (
	"time"

	"github.com/tidemall/tidemall/model"
)

// china is the zone of WeChat's days, whatever the shop's is.
var china = time.FixedZone("+08:00", 8*60*60)

// readyAt is when a bill is asked for on the day after its own: WeChat says ten o'clock.
const readyAt = 10*time.Hour + 15*time.Minute

// Day is a day in China as its digits, 20261128.
type Day int64

// DayOf returns the day of an instant.
func DayOf(t model.Time) Day { return dayOf(t.Std().In(china)) }

func dayOf(t time.Time) Day { return Day(t.Year()*10000 + int(t.Month())*100 + t.Day()) }

// ParseDay reads a day written as 2026-11-28; ok is false for anything else.
func ParseDay(text string) (d Day, ok bool) {
	t, err := time.ParseInLocation(time.DateOnly, text, china)
	return dayOf(t), err == nil
}

// Date returns midnight of the day.
func (d Day) Date() time.Time {
	return time.Date(int(d/10000), time.Month(d/100%100), int(d%100), 0, 0, 0, 0, china)
}

// Start returns midnight of the day in milliseconds.
func (d Day) Start() model.Time { return model.At(d.Date()) }

// Add returns the day so many days later.
func (d Day) Add(days int) Day { return dayOf(d.Date().AddDate(0, 0, days)) }

// Ready returns when the day's bill is asked for first.
func (d Day) Ready() model.Time { return d.Add(1).Start().Add(readyAt) }

// String returns the day as 2026-11-28.
func (d Day) String() string { return d.Date().Format(time.DateOnly) }

// oldest is the first day whose bill WeChat still has: it keeps them for three months.
func oldest(now model.Time) Day { return dayOf(now.Std().In(china).AddDate(0, -3, 1)) }
